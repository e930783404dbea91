// Bodies that attract each other: square roots and divisions in structures of arrays.
#include <cmath>
#include <vector>

struct Bodies {
    std::vector<float> x, y, z, vx, vy, vz, mass;
};

void step(Bodies &b, float dt)
{
    const std::size_t n = b.mass.size();
    for (std::size_t i = 0; i < n; ++i) {
        float ax = 0, ay = 0, az = 0;
        for (std::size_t j = 0; j < n; ++j) {
            const float dx = b.x[j] - b.x[i], dy = b.y[j] - b.y[i], dz = b.z[j] - b.z[i];
            const float square = dx * dx + dy * dy + dz * dz + 1e-9f;
            const float factor = b.mass[j] / (square * std::sqrt(square));
            ax += dx * factor;
            ay += dy * factor;
            az += dz * factor;
        }
        b.vx[i] += dt * ax;
        b.vy[i] += dt * ay;
        b.vz[i] += dt * az;
    }
    for (std::size_t i = 0; i < n; ++i) {
        b.x[i] += dt * b.vx[i];
        b.y[i] += dt * b.vy[i];
        b.z[i] += dt * b.vz[i];
    }
}

double potential(const double *x, const double *mass, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            sum -= mass[i] * mass[j] / std::fabs(x[i] - x[j]);
    return sum;
}
