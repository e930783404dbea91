/* y = a*x + y in single precision, and the same with a stride. */
#include <stddef.h>

void saxpy(size_t n, float a, const float *restrict x, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void saxpy_strided(size_t n, float a, const float *x, ptrdiff_t dx, float *y, ptrdiff_t dy)
{
    for (size_t i = 0; i < n; i++, x += dx, y += dy)
        *y += a * *x;
}
