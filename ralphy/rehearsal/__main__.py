"""Run the rehearsal agent: `python -m ralphy.rehearsal …`."""

from ralphy.rehearsal.agent import main

if __name__ == "__main__":
    main()
