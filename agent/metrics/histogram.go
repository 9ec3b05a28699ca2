package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/regentproject/regent"
)

// A sink takes metrics; labels are names and values in turn.
type sink chan<- prometheus.Metric

func (s sink) gauge(name, help string, value float64, labels ...string) {
	s.put(prometheus.GaugeValue, name, help, value, labels)
}

func (s sink) count(name, help string, value float64, labels ...string) {
	s.put(prometheus.CounterValue, name, help, value, labels)
}

func (s sink) put(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	desc, values := describe(name, help, labels)
	m, err := prometheus.NewConstMetric(desc, kind, value, values...)
	if err == nil {
		s <- m
	}
}

func describe(name, help string, labels []string) (desc *prometheus.Desc, values []string) {
	names := make([]string, 0, len(labels)/2)
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	return prometheus.NewDesc(name, help, names, nil), values
}

// schema is that of native histograms: eight buckets for each power of two, as fine as what the member counts in.
const schema = 3

// bounds are the upper bounds of the buckets for those that do not read native histograms, in seconds.
var bounds = []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10}

// histogram sends a histogram, both as a native one and with a few fixed buckets. A value counts where the upper end of its own bucket lies, so
// none is shown less than it is.
func (s sink) histogram(x *regent.Metric) {
	desc, values := describe(x.Name, x.Help, x.Labels)
	native, classic := make(map[int]int64), make(map[float64]uint64)
	var count, zero uint64
	for _, b := range x.Buckets {
		count += b.Count
		if i, ok := nativeBucket(b.Upper); ok {
			native[i] += int64(b.Count)
		} else {
			zero += b.Count
		}
	}
	for _, bound := range bounds {
		classic[bound] = 0
		for _, b := range x.Buckets {
			if b.Upper <= bound {
				classic[bound] += b.Count
			}
		}
	}
	n, err := prometheus.NewConstNativeHistogram(desc, count, x.Value, native, nil, zero, schema, zeroThreshold, time.Time{}, values...)
	if err != nil {
		return
	}
	c, err := prometheus.NewConstHistogram(desc, count, x.Value, classic, values...)
	if err == nil {
		s <- &histogram{n, c}
	}
}

// zeroThreshold is what counts as zero, in seconds: the clocks tell no less.
const zeroThreshold = 1e-9

// nativeBucket returns the index of the native bucket of a value; false if that counts as zero.
func nativeBucket(value float64) (index int, ok bool) {
	if value <= zeroThreshold {
		return 0, false
	}
	return int(math.Ceil(math.Log2(value) * (1 << schema))), true
}

// A histogram is a native one that has fixed buckets, too.
type histogram struct{ native, classic prometheus.Metric }

// Desc describes it.
func (h *histogram) Desc() *prometheus.Desc { return h.native.Desc() }

// Write writes both.
func (h *histogram) Write(to *dto.Metric) error {
	var classic dto.Metric
	if err := h.classic.Write(&classic); err != nil {
		return err
	}
	if err := h.native.Write(to); err != nil {
		return err
	}
	to.Histogram.Bucket = classic.Histogram.Bucket
	to.Histogram.CreatedTimestamp = nil
	return nil
}
