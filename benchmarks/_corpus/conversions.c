/* Conversions between integers and floating point of every width, rounding and comparing. */
#include <math.h>
#include <stdint.h>

void from_bytes(const uint8_t *x, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (float)x[i] * (1.0f / 255.0f);
}

void to_bytes(const float *x, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++) {
        float v = x[i] * 255.0f + 0.5f;
        out[i] = v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
    }
}

void widths(const double *x, int64_t *a, uint64_t *b, float *c, int n)
{
    for (int i = 0; i < n; i++) {
        a[i] = (int64_t)x[i];
        b[i] = (uint64_t)fabs(x[i]);
        c[i] = (float)x[i] + (float)b[i];
    }
}

double average(const uint32_t *x, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += x[i];
    return (double)sum / (double)n;
}

int roots(double a, double b, double c, double out[2])
{
    double d = b * b - 4 * a * c;
    if (d < 0 || a != a)
        return 0;
    out[0] = (-b - sqrt(d)) / (2 * a);
    out[1] = (-b + sqrt(d)) / (2 * a);
    return d > 0 ? 2 : 1;
}

float clamped(float x, float low, float high)
{
    return fminf(fmaxf(x, low), high) + copysignf(floorf(x), high);
}
