/* Finding: a text in a text, a number in a sorted array, the end of a line. */
#include <stddef.h>
#include <string.h>

const char *find_text(const char *text, size_t n, const char *wanted, size_t m)
{
    size_t skip[256];
    for (int c = 0; c < 256; c++)
        skip[c] = m;
    for (size_t i = 0; i + 1 < m; i++)
        skip[(unsigned char)wanted[i]] = m - 1 - i;
    for (size_t at = 0; at + m <= n; at += skip[(unsigned char)text[at + m - 1]])
        if (!memcmp(text + at, wanted, m))
            return text + at;
    return NULL;
}

size_t lower_bound(const int *x, size_t n, int wanted)
{
    size_t first = 0;
    while (n) {
        size_t half = n / 2;
        if (x[first + half] < wanted) {
            first += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return first;
}

int lines(const char *text)
{
    int n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

int distance(const char *a, int n, const char *b, int m)
{
    int row[256];
    for (int j = 0; j <= m && j < 256; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= m && j < 256; j++) {
            int same = corner + (a[i - 1] != b[j - 1]), one = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            corner = row[j];
            row[j] = same < one ? same : one;
        }
    }
    return row[m < 256 ? m : 255];
}
