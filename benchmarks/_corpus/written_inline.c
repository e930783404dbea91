/* Assembly within C: several instructions in one string, constraints, local labels. */
#include <stdint.h>

static inline uint64_t now(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

uint64_t spent(volatile int *x, int n)
{
    uint64_t before = now();
    while (n--)
        *x += n;
    return now() - before;
}

void identify(uint32_t leaf, uint32_t out[4])
{
    __asm__("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "0"(leaf), "2"(0));
}

void barrier(void)
{
    __asm__ volatile("mfence; lfence\n\tnop" ::: "memory");
}

void set_bytes(void *to, int value, unsigned long n)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
}

uint32_t swapped(uint32_t x)
{
    __asm__("bswap %0" : "+r"(x));
    return x;
}

void idle(unsigned long n)
{
    __asm__ volatile(".Lidle%=:\n\tpause\n\tdec %0\n\tjnz .Lidle%=" : "+r"(n) : : "cc");
}
