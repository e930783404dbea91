/* Lengths of strings: a byte at a time, and eight at a time with the usual trick of carries. */
#include <stddef.h>
#include <stdint.h>

size_t length(const char *s)
{
    const char *p = s;
    while (*p)
        p++;
    return (size_t)(p - s);
}

size_t length_by_words(const char *s)
{
    const char *p = s;
    while ((uintptr_t)p % 8) {
        if (!*p)
            return (size_t)(p - s);
        p++;
    }
    for (;;) {
        uint64_t w = *(const uint64_t *)p;
        uint64_t zero = (w - 0x0101010101010101u) & ~w & 0x8080808080808080u;
        if (zero)
            return (size_t)(p - s) + (size_t)__builtin_ctzll(zero) / 8;
        p += 8;
    }
}

int compare(const unsigned char *a, const unsigned char *b, size_t n)
{
    while (n--) {
        if (*a != *b || !*a)
            return *a - *b;
        a++, b++;
    }
    return 0;
}
