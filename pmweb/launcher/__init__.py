"""Starting the whole site with one command and stopping it without a trace."""
