/* Thread-local data, atomic operations and fences. */
#include <stdatomic.h>
#include <stdint.h>

_Thread_local int errors;
static _Thread_local uint64_t state[2] = {1, 2};
atomic_long shared;
static atomic_flag lock = ATOMIC_FLAG_INIT;

uint64_t drawn(void)
{
    uint64_t a = state[0], b = state[1];
    state[0] = b;
    a ^= a << 23;
    state[1] = a ^ b ^ a >> 17 ^ b >> 26;
    return state[1] + b;
}

long counted(int n)
{
    for (int i = 0; i < n; i++)
        if (drawn() % 3 == 0)
            errors++;
    return atomic_fetch_add(&shared, errors);
}

void store_locked(int *where, int what)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        __builtin_ia32_pause();
    *where = what;
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

int raised(_Atomic unsigned *highest, unsigned value)
{
    unsigned seen = atomic_load(highest);
    while (seen < value)
        if (atomic_compare_exchange_weak(highest, &seen, value))
            return 1;
    atomic_thread_fence(memory_order_seq_cst);
    return 0;
}

int bits(_Atomic uint64_t *word, int n)
{
    return (atomic_fetch_or(word, UINT64_C(1) << n) >> n & 1) + (atomic_fetch_xor(word, 6) != 0);
}
