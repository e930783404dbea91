/* Inner products of floats, doubles and short integers. */
float dot_f(const float *x, const float *y, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

double dot_d4(const double *x, const double *y, int n)
{
    double a = 0, b = 0, c = 0, d = 0;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        a += x[i] * y[i];
        b += x[i + 1] * y[i + 1];
        c += x[i + 2] * y[i + 2];
        d += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++)
        a += x[i] * y[i];
    return (a + b) + (c + d);
}

int dot_i16(const short *x, const short *y, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
