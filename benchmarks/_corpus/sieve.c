/* Primes by a sieve of bits, greatest common divisors, and powers modulo a number. */
#include <stdint.h>

static uint64_t composite[1 << 14];

int sieve(uint32_t limit)
{
    int found = 0;
    for (uint32_t p = 2; p < limit && p < (1u << 20); p++) {
        if (composite[p / 64] >> (p % 64) & 1)
            continue;
        found++;
        for (uint64_t q = (uint64_t)p * p; q < limit; q += p)
            composite[q / 64] |= UINT64_C(1) << (q % 64);
    }
    return found;
}

uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

uint64_t power(uint64_t base, uint64_t exponent, uint64_t modulus)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = (uint64_t)((unsigned __int128)result * base % modulus);
        base = (uint64_t)((unsigned __int128)base * base % modulus);
    }
    return result;
}
