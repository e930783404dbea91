/* A table with open addressing. */
#include <stdint.h>
#include <string.h>

struct slot {
    uint64_t key;
    uint32_t value;
    uint32_t used;
};

static uint64_t scrambled(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 29;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 32;
}

uint32_t *look_up(struct slot *slots, unsigned bits, uint64_t key)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1, i = scrambled(key) & mask;
    while (slots[i].used) {
        if (slots[i].key == key)
            return &slots[i].value;
        i = (i + 1) & mask;
    }
    return 0;
}

int equal_names(const char (*names)[24], int n, const char *name)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        found += !memcmp(names[i], name, 24);
    return found;
}

unsigned bits_set(const uint64_t *words, int n)
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        sum += (unsigned)__builtin_popcountll(words[i]) + (unsigned)__builtin_parityll(words[i]);
    return sum;
}
