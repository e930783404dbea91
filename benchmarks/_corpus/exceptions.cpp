// Exceptions, destructors, virtual functions, guarded statics.
#include <memory>
#include <stdexcept>
#include <string>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square final : Shape {
    explicit Square(double side) : side_(side)
    {
        if (side < 0)
            throw std::invalid_argument("a side is at least 0, not " + std::to_string(side));
    }
    double area() const override { return side_ * side_; }

private:
    double side_;
};

struct Circle final : Shape {
    explicit Circle(double radius) : radius_(radius) {}
    double area() const override { return 3.14159265358979 * radius_ * radius_; }

private:
    double radius_;
};

double total(const std::unique_ptr<Shape> *shapes, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += shapes[i]->area();
    return sum;
}

std::unique_ptr<Shape> made(const std::string &kind, double size)
{
    try {
        if (kind == "square")
            return std::make_unique<Square>(size);
        return std::make_unique<Circle>(size);
    } catch (const std::invalid_argument &) {
        return nullptr;
    }
}

const std::string &greeting()
{
    static const std::string text(40, '-');
    return text;
}

bool circular(const Shape &shape)
{
    return dynamic_cast<const Circle *>(&shape) != nullptr;
}
