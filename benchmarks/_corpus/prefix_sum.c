/* Running sums, maxima and differences. */
#include <stdint.h>

void sums(const int *x, int *out, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        out[i] = sum += x[i];
}

int64_t wide_sum(const int *x, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

int best_run(const int *x, int n)
{
    int best = 0, here = 0;
    for (int i = 0; i < n; i++) {
        here = here + x[i] > 0 ? here + x[i] : 0;
        best = here > best ? here : best;
    }
    return best;
}

void differences(const int16_t *x, int16_t *out, int n)
{
    for (int i = 1; i < n; i++)
        out[i - 1] = (int16_t)(x[i] - x[i - 1]);
}
