"""What an act needs: the workspace, the checkout it stands on, the environments and levels of safety."""
