/* What the golden listings are of: loops with calls, constants in memory, strings and jumps both ways. */
#include <stddef.h>
#include <string.h>

static const double weights[4] = {0.5, 1.5, -2.5, 4.0};
long seen;

void saxpy(size_t n, float a, const float *restrict x, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

double weighted(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            sum += x[i] * weights[i & 3] + 300;
    return sum;
}

size_t characters(const char *text, int wanted)
{
    size_t found = 0;
    for (; *text; text++)
        found += *text == wanted;
    seen += (long)found;
    return found;
}

void cleared(char *to, const char *from, size_t n)
{
    if (strlen(from) < n) {
        memset(to, 0, n);
        strcpy(to, from);
    }
}
