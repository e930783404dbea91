// Templates of several element types, and loops whose bounds the compiler knows.
#include <array>
#include <cstddef>
#include <cstdint>

template <typename T, std::size_t N> struct Vector {
    std::array<T, N> x;

    T dot(const Vector &other) const
    {
        T sum{};
        for (std::size_t i = 0; i < N; ++i)
            sum += x[i] * other.x[i];
        return sum;
    }

    Vector operator+(const Vector &other) const
    {
        Vector sum;
        for (std::size_t i = 0; i < N; ++i)
            sum.x[i] = static_cast<T>(x[i] + other.x[i]);
        return sum;
    }
};

template struct Vector<float, 16>;
template struct Vector<double, 3>;
template struct Vector<std::int8_t, 32>;
template struct Vector<std::uint64_t, 8>;

template <typename T, typename Function> void each(T *x, std::size_t n, Function function)
{
    for (std::size_t i = 0; i < n; ++i)
        x[i] = function(x[i]);
}

void halve(short *x, std::size_t n) { each(x, n, [](short v) { return static_cast<short>(v / 2); }); }
void invert(float *x, std::size_t n) { each(x, n, [](float v) { return 1.0f / v; }); }
void rotate(std::uint32_t *x, std::size_t n) { each(x, n, [](std::uint32_t v) { return v << 7 | v >> 25; }); }
