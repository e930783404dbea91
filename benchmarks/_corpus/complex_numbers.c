/* Complex numbers: products, a transform, and the set that everybody draws. */
#include <complex.h>

void products(const float complex *a, const float complex *b, float complex *c, int n)
{
    for (int i = 0; i < n; i++)
        c[i] = a[i] * b[i];
}

double complex horner(const double complex *coefficients, int n, double complex z)
{
    double complex sum = 0;
    while (n--)
        sum = sum * z + coefficients[n];
    return sum;
}

void transform(double complex *x, int n, const double complex *roots)
{
    for (int size = 2; size <= n; size *= 2)
        for (int from = 0; from < n; from += size)
            for (int k = 0; k < size / 2; k++) {
                double complex odd = roots[k * (n / size)] * x[from + k + size / 2];
                x[from + k + size / 2] = x[from + k] - odd;
                x[from + k] += odd;
            }
}

int escapes(double re, double im)
{
    double x = 0, y = 0;
    int n = 0;
    while (x * x + y * y < 4 && n < 1000) {
        double t = x * x - y * y + re;
        y = 2 * x * y + im;
        x = t;
        n++;
    }
    return n;
}
