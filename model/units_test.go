package model

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	for s, want := range map[string]Time{
		"0": 0, "0s": 0, "1ps": 1, "500ns": 500 * Nanosecond, "0.7us": 700 * Nanosecond, "0.7µs": 700 * Nanosecond, "0.7μs": 700 * Nanosecond,
		"1.2ms": 1200 * Microsecond, "0.000000000001s": 1, "1 us": Microsecond, "007ns": 7 * Nanosecond, "4611686018427387903ps": 1<<62 - 1,
	} {
		got, err := ParseTime(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for s, want := range map[string]string{
		"":                      `time "": want a decimal number and a unit (ps, ns, us, ms or s)`,
		"5":                     `time "5": unknown unit "", want ps, ns, us, ms or s`,
		"5m":                    `time "5m": unknown unit "m", want ps, ns, us, ms or s`,
		"-5ns":                  `time "-5ns": want a decimal number and a unit (ps, ns, us, ms or s)`,
		"1e3ns":                 `time "1e3ns": want a decimal number and a unit (ps, ns, us, ms or s)`,
		".5ns":                  `time ".5ns": want a decimal number and a unit (ps, ns, us, ms or s)`,
		"5.ns":                  `time "5.ns": want a decimal number and a unit (ps, ns, us, ms or s)`,
		"1.5.2ns":               `time "1.5.2ns": want a decimal number and a unit (ps, ns, us, ms or s)`,
		"1/2ns":                 `time "1/2ns": want a decimal number and a unit (ps, ns, us, ms or s)`,
		"0.5ps":                 `time "0.5ps": is not a whole number of the smallest unit (ps)`,
		"NaNs":                  `time "NaNs": want a decimal number and a unit (ps, ns, us, ms or s)`,
		"4611686018427387904ps": `time "4611686018427387904ps": is too large, want less than 2^62 ps`,
		"99999999999s":          `time "99999999999s": is too large, want less than 2^62 ps`,
	} {
		_, err := ParseTime(s)
		require.EqualError(t, err, want)
	}
}

func TestParseBytesAndRate(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "1B": 1, "8MiB": 8 << 20, "1.5KiB": 1536, "2KB": 2000, "2kB": 2000, "3GB": 3e9, "3GiB": 3 << 30, "1TiB": 1 << 40, "1TB": 1e12,
		"8M": 8 << 20, "1G": 1 << 30, "512K": 512 << 10, "1.5T": 3 << 39, // as nccl-tests counts
	} {
		got, err := ParseBytes(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "MiB", "8MiBB", "8mib", "-1", "0.5", "0.0001KB", "1e9", "9223372036854775808", "5000000000TiB", "８MiB"} {
		_, err := ParseBytes(s)
		require.Error(t, err, s)
	}
	got, err := ParseRate("12.5GB/s")
	require.NoError(t, err)
	require.Equal(t, int64(12_500_000_000), got)
	for _, s := range []string{"0/s", "0GB/s", "1GB", "1GB/ms", "1Gb/s", "/s", "GB/s"} {
		_, err := ParseRate(s)
		require.Error(t, err, s)
	}
	for s, want := range map[string]string{
		"400Gb/s": "50GB/s", "400 Gbit/s": "50GB/s", "25Gbps": "3.125GB/s", "100Mb/s": "12.5MB/s", "8b/s": "1B/s", "1.6Tb/s": "200GB/s", "12344b/s": "1.543KB/s", "8.008Kbps": "1.001KB/s", "8.008008Mb/s": "1001.001KB/s",
	} {
		_, err := ParseRate(s)
		require.ErrorContains(t, err, "counts bits", s)
		require.ErrorContains(t, err, "per second: "+want, s)
	}
}

func TestTimeString(t *testing.T) {
	for want, v := range map[string]Time{
		"0s": 0, "1ps": 1, "999ps": 999, "1ns": 1000, "700ns": 700_000, "83.886us": 83_886_000, "1.000001ms": Millisecond + Nanosecond,
		"1s": Second, "1.000000000001s": Second + 1, "-1.5ns": -1500, "9223372.036854775807s": MaxTime, "-9223372.036854775808s": math.MinInt64,
	} {
		require.Equal(t, want, v.String())
	}
	for want, b := range map[string]int64{"0 B": 0, "1 B": 1, "1500000 B": 1500000, "8 MiB": 8 << 20, "1536 KiB": 3 << 19, "2 TiB": 2 << 40, "2048 TiB": 1 << 51} {
		require.Equal(t, want, FormatBytes(b))
	}
}

func TestUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Time(rapid.Int64Range(0, 1<<62-1).Draw(t, "time"))
		got, err := ParseTime(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)

		size := rapid.Int64Range(0, 1<<62-1).Draw(t, "bytes")
		back, err := ParseBytes(FormatBytes(size))
		require.NoError(t, err)
		require.Equal(t, size, back)

		rate := rapid.Int64Range(1, 1<<62-1).Draw(t, "rate")
		back, err = ParseRate(FormatRate(rate))
		require.NoError(t, err)
		require.Equal(t, rate, back)
	})
}

// The arithmetic of times against big integers.
func TestTimeArithmetic(t *testing.T) {
	saturated := func(v *big.Int) Time {
		if v.Cmp(big.NewInt(math.MaxInt64)) > 0 {
			return MaxTime
		}
		return Time(v.Int64())
	}
	any63 := rapid.OneOf(rapid.Int64Range(0, math.MaxInt64), rapid.Int64Range(0, 1<<20), rapid.SampledFrom([]int64{0, 1, math.MaxInt64 - 1, math.MaxInt64}))
	rapid.Check(t, func(t *rapid.T) {
		a, b, bandwidth := any63.Draw(t, "a"), any63.Draw(t, "b"), max(1, any63.Draw(t, "bandwidth"))
		x, y := big.NewInt(a), big.NewInt(b)
		require.Equal(t, saturated(new(big.Int).Add(x, y)), Time(a).Add(Time(b)))
		require.Equal(t, saturated(new(big.Int).Mul(x, y)), Time(a).Mul(b))

		num := new(big.Int).Mul(x, big.NewInt(int64(Second)))
		q, r := new(big.Int).QuoRem(num, big.NewInt(bandwidth), new(big.Int))
		if r.Sign() > 0 {
			q.Add(q, big.NewInt(1))
		}
		require.Equal(t, saturated(q), TransferTime(a, bandwidth))
	})
}

func FuzzParseUnits(f *testing.F) {
	for _, s := range []string{"500ns", "1.2ms", "8MiB", "50GiB/s", "µs", "0.000000000000000000000000000000000000001s", "1" + "000000000000000000000000000000000000000ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseTime(s); err == nil {
			require.GreaterOrEqual(t, v, Time(0))
			back, err := ParseTime(v.String())
			require.NoError(t, err)
			require.Equal(t, v, back)
		}
		if v, err := ParseBytes(s); err == nil {
			require.GreaterOrEqual(t, v, int64(0))
		}
		if v, err := ParseRate(s); err == nil {
			require.Positive(t, v)
		}
	})
}
