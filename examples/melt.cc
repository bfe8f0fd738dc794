// A Lennard-Jones crystal that melts: cell lists, velocity Verlet, and dumps of the positions.
//
//   melt            with MELT_CELLS, MELT_STEPS, MELT_DT, MELT_DUMP_EVERY, MELT_DUMP in the
//                   environment (see Settings)
//
// Reduced units; an fcc crystal of density 0.8442 at temperature 1.44, cut off at 2.5 where the
// potential is shifted to 0. The total energy must stay what it was: with a time step that is too
// long it does not, and the check fails. Writing the dumps is not what we want to know the speed
// of, so it is excluded.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "roimeter.h"

using Vector = std::array<double, 3>;

struct Settings {
	int cells = 8;              // MELT_CELLS: fcc cells per side, 4 atoms each
	long steps = 0;             // MELT_STEPS; 0: as many as move single atoms 200,000 times
	double dt = 0.004;          // MELT_DT
	long dump_every = 10;       // MELT_DUMP_EVERY: steps; 0: never
	const char *dump = nullptr; // MELT_DUMP: file; without it, one that goes away
};

static double from_environment(const char *name, double otherwise)
{
	const char *text = std::getenv(name);
	return text && *text ? std::strtod(text, nullptr) : otherwise;
}

static Settings settings_from_environment()
{
	Settings s;
	s.cells = static_cast<int>(from_environment("MELT_CELLS", s.cells));
	s.steps = std::lround(from_environment("MELT_STEPS", 0));
	if (s.steps == 0 && s.cells > 0)
		s.steps = 1 + 200000 / (4 * static_cast<long>(s.cells) * s.cells * s.cells);
	s.dt = from_environment("MELT_DT", s.dt);
	s.dump_every = std::lround(from_environment("MELT_DUMP_EVERY", 10));
	s.dump = std::getenv("MELT_DUMP");
	return s;
}

class Melt {
public:
	explicit Melt(int cells);
	void step(double dt);
	double energy_per_atom() const;
	bool dump(std::FILE *file, long step) const;
	std::size_t size() const { return position_.size(); }

private:
	static constexpr double cutoff2 = 2.5 * 2.5;

	void sort_into_bins();
	void forces();
	void pair(std::size_t i, std::size_t j);

	double box_;
	int bins_;                      // per side; a bin is not smaller than the cutoff
	std::vector<Vector> position_, velocity_, force_;
	std::vector<std::vector<std::size_t>> bin_;
	double potential_ = 0;
	double shift_;                  // the potential at the cutoff
};

Melt::Melt(int cells)
{
	const double density = 0.8442, temperature = 1.44;
	const double side = std::cbrt(4 / density);
	const double corner[4][3] = { { 0, 0, 0 }, { .5, .5, 0 }, { .5, 0, .5 }, { 0, .5, .5 } };

	box_ = cells * side;
	bins_ = static_cast<int>(box_ / std::sqrt(cutoff2));
	bin_.resize(static_cast<std::size_t>(bins_) * bins_ * bins_);
	const double r6 = 1 / (cutoff2 * cutoff2 * cutoff2);
	shift_ = 4 * (r6 * r6 - r6);

	for (int x = 0; x < cells; x++)
		for (int y = 0; y < cells; y++)
			for (int z = 0; z < cells; z++)
				for (const auto &c : corner)
					position_.push_back({ (x + c[0]) * side, (y + c[1]) * side,
							      (z + c[2]) * side });

	std::mt19937 random(20260929); // the same start every time
	std::uniform_real_distribution<double> uniform(-0.5, 0.5);
	Vector mean{};
	for (std::size_t i = 0; i < size(); i++) {
		velocity_.push_back({ uniform(random), uniform(random), uniform(random) });
		for (int d = 0; d < 3; d++)
			mean[d] += velocity_[i][d] / static_cast<double>(size());
	}
	double square = 0;
	for (auto &v : velocity_)
		for (int d = 0; d < 3; d++) {
			v[d] -= mean[d];
			square += v[d] * v[d];
		}
	const double scale = std::sqrt(3 * temperature * static_cast<double>(size()) / square);
	for (auto &v : velocity_)
		for (double &component : v)
			component *= scale;
	force_.resize(size());
	forces();
}

void Melt::sort_into_bins()
{
	for (auto &b : bin_)
		b.clear();
	for (std::size_t i = 0; i < size(); i++) {
		std::size_t at = 0;
		for (double &x : position_[i]) {
			x -= box_ * std::floor(x / box_);
			const int k = std::clamp(static_cast<int>(x / box_ * bins_), 0, bins_ - 1);
			at = at * bins_ + static_cast<std::size_t>(k);
		}
		bin_[at].push_back(i);
	}
}

inline void Melt::pair(std::size_t i, std::size_t j)
{
	Vector apart;
	double r2 = 0;
	for (int d = 0; d < 3; d++) {
		apart[d] = position_[i][d] - position_[j][d];
		if (apart[d] > box_ / 2)
			apart[d] -= box_;
		else if (apart[d] < -box_ / 2)
			apart[d] += box_;
		r2 += apart[d] * apart[d];
	}
	if (r2 >= cutoff2)
		return;
	const double i2 = 1 / r2, i6 = i2 * i2 * i2;
	const double pull = 24 * i2 * i6 * (2 * i6 - 1);
	for (int d = 0; d < 3; d++) {
		force_[i][d] += pull * apart[d];
		force_[j][d] -= pull * apart[d];
	}
	potential_ += 4 * i6 * (i6 - 1) - shift_;
}

// Each pair of neighbouring bins once: a bin with itself and with 13 of its 26 neighbours.
void Melt::forces()
{
	sort_into_bins();
	potential_ = 0;
	for (auto &f : force_)
		f = Vector{};
	const auto wrap = [this](int k) { return (k + bins_) % bins_; };
	for (int x = 0; x < bins_; x++)
		for (int y = 0; y < bins_; y++)
			for (int z = 0; z < bins_; z++) {
				const auto &here = bin_[(x * bins_ + y) * bins_ + z];
				for (std::size_t a = 0; a < here.size(); a++)
					for (std::size_t b = a + 1; b < here.size(); b++)
						pair(here[a], here[b]);
				for (int n = 14; n < 27; n++) {
					const int nx = wrap(x + n / 9 - 1);
					const int ny = wrap(y + n / 3 % 3 - 1);
					const int nz = wrap(z + n % 3 - 1);
					for (std::size_t i : here)
						for (std::size_t j : bin_[(nx * bins_ + ny) * bins_ + nz])
							pair(i, j);
				}
			}
}

void Melt::step(double dt)
{
	for (std::size_t i = 0; i < size(); i++)
		for (int d = 0; d < 3; d++) {
			velocity_[i][d] += dt / 2 * force_[i][d];
			position_[i][d] += dt * velocity_[i][d];
		}
	forces();
	for (std::size_t i = 0; i < size(); i++)
		for (int d = 0; d < 3; d++)
			velocity_[i][d] += dt / 2 * force_[i][d];
}

double Melt::energy_per_atom() const
{
	double kinetic = 0;
	for (const auto &v : velocity_)
		kinetic += (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 2;
	return (kinetic + potential_) / static_cast<double>(size());
}

bool Melt::dump(std::FILE *file, long step) const
{
	std::fprintf(file, "%zu\nstep %ld\n", size(), step);
	for (const auto &p : position_)
		std::fprintf(file, "Ar %.6f %.6f %.6f\n", p[0], p[1], p[2]);
	return std::fflush(file) == 0 && !std::ferror(file);
}

static double now_s()
{
	using namespace std::chrono;
	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main()
{
	const Settings set = settings_from_environment();
	// With fewer bins than 3 per side a neighbour would be met twice.
	if (set.cells < 5 || set.cells > 200 || set.steps < 1 || !(set.dt > 0)) {
		std::fprintf(stderr, "melt: wants MELT_CELLS from 5 to 200, MELT_STEPS and MELT_DT above 0\n");
		return 2;
	}
	std::FILE *file = set.dump ? std::fopen(set.dump, "w") : std::tmpfile();
	if (!file) {
		std::perror(set.dump ? set.dump : "melt: temporary file");
		return 2;
	}
	Melt melt(set.cells);
	std::printf("melt: %zu atoms, %ld steps\n", melt.size(), set.steps);
	const double energy_before = melt.energy_per_atom();
	bool written = true;
	int dumps = 0;

	ROIMETER_BEGIN();
	const double start_s = now_s();
	double dumping_s = 0;
	for (long i = 1; i <= set.steps; i++) {
		melt.step(set.dt);
		ROIMETER_STEP();
		if (set.dump_every > 0 && i % set.dump_every == 0) {
			ROIMETER_EXCLUDE_BEGIN();
			const double dump_start_s = now_s();
			written = melt.dump(file, i) && written;
			dumps++;
			dumping_s += now_s() - dump_start_s;
			ROIMETER_EXCLUDE_END();
		}
	}
	const double region_s = now_s() - start_s - dumping_s;
	ROIMETER_END();

	written = std::fclose(file) == 0 && written;
	const double drift = std::fabs(melt.energy_per_atom() - energy_before);
	const bool good = drift < 2e-3 && written; // a NaN is not good either
	std::printf("check: energy per atom %.6f, drift %.2g, limit 0.002; %d dumps%s: %s\n",
		    energy_before, drift, dumps, written ? "" : " not written", good ? "good" : "WRONG");
	std::printf("rate: %.6f Matom-step/s\n",
		    static_cast<double>(melt.size()) * static_cast<double>(set.steps) / region_s / 1e6);
	std::printf("excluded time: %.9f s\n", dumping_s);
	std::printf("region time: %.9f s\n", region_s);
	return good ? 0 : 1;
}
