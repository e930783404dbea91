"""Starting and stopping all processes of the site with one command."""
