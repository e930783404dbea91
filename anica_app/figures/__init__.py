"""Values as plain data for pictures: the generalisation tree, the matrix of tools."""
