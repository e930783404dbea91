"""Files in and out: campaign directories, basic-block sets, archives."""
