"""Between database rows and the values of `inference.core`."""
