"""The walls around a program: bubblewrap, the network proxy, and the system calls that are refused."""
