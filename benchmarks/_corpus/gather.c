/* Sparse matrices, indirect accesses and compressed output. */
void sparse_product(int rows, const int *starts, const int *columns, const double *values, const double *x, double *y)
{
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int k = starts[r]; k < starts[r + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[r] = sum;
    }
}

void permuted(const float *x, const int *order, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = x[order[i]];
}

void scattered(float *x, const int *where, const float *what, int n)
{
    for (int i = 0; i < n; i++)
        x[where[i]] = what[i];
}

int kept(const int *x, int *out, int n)
{
    int m = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            out[m++] = x[i];
    return m;
}

long long shifted(const long long *x, const long long *by, long long *out, int n)
{
    long long all = 0;
    for (int i = 0; i < n; i++) {
        out[i] = x[i] >> (by[i] & 63);
        all |= out[i] * x[i];
    }
    return all;
}
