/* Copies and fills that compilers turn into calls, string instructions or vectors. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct record {
    char name[72];
    uint32_t words[24];
    double values[6];
};

void copy_words(uint64_t *to, const uint64_t *from, size_t n)
{
    while (n--)
        *to++ = *from++;
}

void copy_backwards(char *to, const char *from, size_t n)
{
    while (n--)
        to[n] = from[n];
}

void clear(struct record *r)
{
    memset(r, 0, sizeof *r);
}

void assign(struct record *to, const struct record *from)
{
    *to = *from;
}

void fill(float *x, float value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

void shift(char *buffer, size_t n)
{
    memmove(buffer + 3, buffer, n);
    memset(buffer, ' ', 3);
}
