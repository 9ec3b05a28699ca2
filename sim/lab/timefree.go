package lab

import (
	"fmt"
	"math"
	"math/big"
)

const timefreePaper = "Time-free"

func timefreeExperiments() []*Experiment {
	return []*Experiment{
		{Name: "timefree-probability", Paper: timefreePaper, Where: "Fig. A.1", Title: "how long the order of answers keeps its promise by chance",
			Claim: "If answers arrive in random order, MP(1) holds for x rounds with probability p(x), which is very close to 1 for x = 3n/2 and 2n: MP is practically always satisfied.",
			Differs: "The closed form is exact where the paper approximates. It confirms the figures for about 2n rounds, a second or two (E-T3): p is 0.977 for seven members " +
				"and 2n rounds, and 0.00001 for five members and 50 rounds. For a service that runs for hours MP needs a reason other than chance.",
			run: timefreeProbability},
		{Name: "timefree-failover", Paper: timefreePaper, Where: "Fig. 2", Title: "how long a dead leader is trusted, by how long it led",
			Claim: "Eventually all correct processes trust the same correct process. The paper gives no time.",
			Differs: "A suspicion adds one in the paper, so a dead leader is trusted until its counter outgrows all that the next one has gathered (E-T1). Here it leaps over " +
				"the next candidate.",
			run: timefreeFailover},
		{Name: "timefree-patience", Paper: timefreePaper, Where: "section 5", Title: "how often chance deposes a leader, by f and h",
			Claim:   "Any f < n may be chosen, and a missing answer is a suspicion at once (h = 1).",
			Differs: "Large f is noisy if answers arrive in random order. Here a member is suspected after h missing answers in a row; h is 4 by default.",
			run:     timefreePatience},
	}
}

// unlikely is the probability below which a number contradicts the closed form. With 15 numbers three of ten thousand seeds do so by
// chance.
const unlikely = 1e-5

// A cell is one number of the table of p(x).
type cell struct {
	n, x int
	p    float64
}

// cells are those of 5 to 10 members over 3n/2 and 2n rounds.
func cells() []cell {
	var all []cell
	for n := 5; n <= 10; n++ {
		last := 0
		for _, x := range []int{3 * n / 2, (3*n + 1) / 2, 2 * n} {
			if x != last {
				p, _ := survives(n, x).Float64()
				all = append(all, cell{n, x, p})
			}
			last = x
		}
	}
	return all
}

func timefreeProbability(r *run, out *Report) error {
	trials := r.pick(60, 1000)
	all := cells()
	held, err := each(r, len(all), func(i int) (int, error) { return chance(all[i].n, all[i].x, trials, r.Seed+uint64(i)) })
	if err != nil {
		return err
	}
	t := out.table(fmt.Sprintf("How likely MP(1) survives x rounds, and in which share of %d trials it did:", trials), "members", "x", "p(x)", "measured", "off by")
	least := 1.0
	for i, c := range all {
		measured := float64(held[i]) / float64(trials)
		off := sigmas(c.p, measured, trials)
		least = min(least, tail(trials, held[i], c.p))
		t.add(c.n, c.x, fmt.Sprintf("%.6f", c.p), fmt.Sprintf("%.4f", measured), fmt.Sprintf("%+.1fσ", off))
	}
	out.check(least > unlikely, "T-PX: the machine agrees with the closed form", "the least likely of the %d numbers, or one further off, has a probability of %.2g", len(all), least)
	seven, _ := survives(7, 14).Float64()
	service, _ := survives(5, 50).Float64()
	out.check(math.Abs(seven-0.977) < 0.0005, "p is 0.977 for seven members and 2n rounds, not very close to 1", "%.6f", seven)
	out.check(service < 2e-5, "MP(1) does not survive 50 rounds of five members by chance", "p = %.2g", service)
	drawProbability(out)
	return nil
}

// drawProbability draws both parts of Fig. A.1 from the closed form.
func drawProbability(out *Report) {
	survival := out.chart("How likely MP(1) survives x rounds", "members n", "p(x)", Curve{Name: "x = 3n/2"}, Curve{Name: "x = 2n"})
	for n := 5; n <= 10; n++ {
		for i, x := range []int{3 * n / 2, 2 * n} {
			p, _ := survives(n, x).Float64()
			survival.Curves[i].Points = append(survival.Curves[i].Points, Point{float64(n), p})
		}
	}
	t := out.table("For how many rounds MP(1) survives with a probability of at least p:", "members", "p = 0.99", "p = 0.9999")
	sessions := out.chart("How long MP(1) survives with probability p", "members n", "rounds x", Curve{Name: "p = 0.99"}, Curve{Name: "p = 0.9999"})
	for n := 5; n <= 14; n++ {
		long := []int{longest(n, big.NewRat(99, 100)), longest(n, big.NewRat(9999, 10000))}
		t.add(n, long[0], long[1])
		for i, x := range long {
			sessions.Curves[i].Points = append(sessions.Curves[i].Points, Point{float64(n), float64(x)})
		}
	}
}

// patience is h where there is some.
const patience = 8

func timefreeFailover(r *run, out *Report) error {
	histories := []int{100, 300, 1000}
	if !r.Quick {
		histories = append(histories, 3000, 10_000, 30_000)
	}
	ways := []struct {
		name  string
		plain bool
		h     int
	}{{"the paper's", true, 1}, {"leapfrog", false, 1}, {"leapfrog, h = 8", false, patience}}
	took, err := each(r, len(histories)*len(ways), func(i int) (int, error) {
		way := ways[i%len(ways)]
		return depose(histories[len(histories)-1-i/len(ways)], way.plain, way.h, r.Seed) // the longest first
	})
	if err != nil {
		return err
	}
	t := out.table("Rounds until a dead leader is deposed; five members, f = 2:", "it led for", ways[0].name, ways[1].name, ways[2].name)
	c := out.chart("How long a dead leader is trusted", "rounds that it led for", "rounds")
	for _, way := range ways {
		c.Curves = append(c.Curves, Curve{Name: way.name})
	}
	c.LogX = true
	worst := 0
	for i, h := range histories {
		row := took[(len(histories)-1-i)*len(ways):][:len(ways)]
		t.add(h, row[0], row[1], row[2])
		for k := range ways {
			c.Curves[k].Points = append(c.Curves[k].Points, Point{float64(h), float64(row[k])})
		}
		worst = max(worst, row[1], row[2])
	}
	_, r2 := linear(c.Curves[0].Points)
	first, last := c.Curves[0].Points[0].Y, c.Curves[0].Points[len(histories)-1].Y
	out.check(r2 > 0.98 && last > 8*first, "E-T1: the paper's protocol needs longer the longer the leader led", "from %g to %g rounds, R² = %.3f", first, last, r2)
	out.check(worst <= 12, "with leapfrog it takes a few rounds, whatever the history", "%d rounds at most", worst)
	return nil
}

func timefreePatience(r *run, out *Report) error {
	count := r.pick(500, 5000)
	councils := []struct{ n, f int }{{5, 1}, {5, 2}, {7, 1}, {7, 2}, {7, 3}}
	const most = 6
	changes, err := each(r, len(councils)*most, func(i int) (float64, error) {
		return mistakes(councils[i/most].n, councils[i/most].f, 1+i%most, count, r.Seed)
	})
	if err != nil {
		return err
	}
	t := out.table(fmt.Sprintf("Changes of leader of a member in %d rounds of answers in random order:", count), "members", "f", "h = 1", "h = 2", "h = 3", "h = 4", "h = 5", "h = 6")
	c := out.chart("Leaders deposed by chance", "h", fmt.Sprintf("changes in %d rounds", count))
	fewer := true
	calm := 0.0
	for i, x := range councils {
		row := changes[i*most : (i+1)*most]
		cells := []any{x.n, x.f}
		curve := Curve{Name: fmt.Sprintf("%d members, f = %d", x.n, x.f)}
		for h, y := range row {
			cells = append(cells, fmt.Sprintf("%.1f", y))
			curve.Points = append(curve.Points, Point{float64(h + 1), y})
		}
		t.add(cells...)
		c.Curves = append(c.Curves, curve)
		fewer = fewer && row[3] <= row[0]/20+0.5
		if x.f == 1 {
			calm = max(calm, row[3])
		}
	}
	noisy := changes[most] // five members, f = 2, h = 1
	out.check(noisy > float64(count)/100, "with f = 2 of five members and h = 1 chance deposes leaders often", "%.1f changes", noisy)
	out.check(fewer && calm == 0, "with h = 4 hardly ever, and with f = 1 never", "%.1f changes with f = 1", calm)
	return nil
}
