/* The x87's numbers: long double, and what it takes to convert and compare them. */
long double series(const long double *x, int n)
{
    long double sum = 0, factor = 1;
    for (int i = 0; i < n; i++) {
        sum += x[i] * factor;
        factor = factor * 0.5L - 1;
    }
    return sum;
}

long whole(long double x) { return (long)x; }
double narrowed(long double x, int y) { return (double)(x / y + 3); }

int larger(long double a, long double b)
{
    return a > b ? 1 : a == b ? 0 : -1;
}

long double newton(long double x)
{
    long double y = x;
    do {
        long double next = (y + x / y) / 2;
        if (__builtin_fabsl(next - y) < 1e-18L)
            return next;
        y = next;
    } while (1);
}
