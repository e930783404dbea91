// The standard library's containers: what templates make of small functions.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

void sort_numbers(std::vector<int> &x)
{
    std::sort(x.begin(), x.end());
}

void sort_names(std::vector<std::string> &names)
{
    std::stable_sort(names.begin(), names.end(), [](const auto &a, const auto &b) {
        return a.size() < b.size() || (a.size() == b.size() && a > b);
    });
}

double mean(const std::vector<double> &x)
{
    return x.empty() ? 0.0 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

std::map<std::string, int> counted(const std::vector<std::string> &words)
{
    std::map<std::string, int> counts;
    for (const auto &word : words)
        ++counts[word];
    return counts;
}

std::string joined(const std::vector<std::string> &parts, char between)
{
    std::string all;
    for (const auto &part : parts) {
        if (!all.empty())
            all += between;
        all += part;
    }
    return all;
}
