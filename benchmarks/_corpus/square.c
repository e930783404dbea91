/* What Compiler Explorer begins with, and the loop that people write next. */
int square(int num)
{
    return num * num;
}

void squares(int *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = square(x[i]);
}
