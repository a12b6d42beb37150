"""What a table can say of its rows with little of it read: the first rows, counts and extremes."""
