/* Runs the loops of kernel.c long enough for a profiler. */
#include <stddef.h>

void saxpy(size_t n, float a, const float *restrict x, float *restrict y);
double weighted(const double *x, int n);
static float x[4096], y[4096];
static double d[4096];

int main(void)
{
    volatile double sum = 0;
    for (int k = 0; k < 4096; k++)
        d[k] = k - 2000;
    for (int round = 0; round < 100000; round++) {
        saxpy(4096, 2, x, y);
        sum += weighted(d, 4096);
    }
    return 0;
}
