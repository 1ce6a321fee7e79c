package conf

import (
	"math"
	"testing"
	"time"
)

// TestFloat checks that Float accepts the same texts as java.lang.Double.parseDouble after Spark's trim.
func TestFloat(t *testing.T) {
	for text, want := range map[string]float64{
		"0.10": 0.1, " 1 ": 1, "1.": 1, ".5": 0.5, "1e3": 1000, "-2E-1": -0.2, "+3": 3, "0.2f": 0.2, "0.2D": 0.2,
		"7d": 7, "1e400": math.Inf(1),
		"-1e400": math.Inf(-1), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "1e-400": 0, "\x01 2 \x00": 2,
	} {
		if got, err := pairs("spark.x", text).Float("spark.x", 0); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}

	if got, err := pairs("spark.x", "NaN").Float("spark.x", 0); err != nil || !math.IsNaN(got) {
		t.Errorf("NaN is %v, %v", got, err)
	}

	for _, text := range []string{"", "f", "d", "inf", "nan", "infinity", "0x1p3", "1_000", "1,5", "10%", "1ff", "1e",
		"e1", "\u00a01"} {
		if got, err := pairs("spark.x", text).Float("spark.x", 0); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

// TestTrimIsJavas checks that trim removes the same characters as Java's String.trim: all characters up to the blank
// (U+0020), and no others.
func TestTrimIsJavas(t *testing.T) {
	c := pairs("spark.i", "\x01\t7\x1f", "spark.b", "\x00true ", "spark.s", "\x02 1g\r\n", "spark.t", "\x02 1s\r\n",
		"spark.l", "\x01a\x01, \u00a0")
	if n, err := c.Int("spark.i", 0); n != 7 || err != nil {
		t.Errorf("Int: %d, %v", n, err)
	}

	if b, err := c.Bool("spark.b", false); !b || err != nil {
		t.Errorf("Bool: %t, %v", b, err)
	}

	if n, err := c.Size("spark.s", 0, MiB); n != 1024 || err != nil {
		t.Errorf("Size: %d, %v", n, err)
	}

	if d, err := c.Duration("spark.t", 0, time.Second); d != time.Second || err != nil {
		t.Errorf("Duration: %v, %v", d, err)
	}

	if l, err := c.List("spark.l", nil); len(l) != 2 || l[0] != "a" || l[1] != "\u00a0" || err != nil {
		t.Errorf("List: %q, %v", l, err)
	}

	for _, text := range []string{"\u00a01", "1\u2003"} {
		c := pairs("spark.x", text)
		if n, err := c.Int("spark.x", 0); err == nil {
			t.Errorf("Int of %q is %d", text, n)
		}

		if n, err := c.Size("spark.x", 0, MiB); err == nil {
			t.Errorf("Size of %q is %d", text, n)
		}

		if d, err := c.Duration("spark.x", 0, time.Second); err == nil {
			t.Errorf("Duration of %q is %v", text, d)
		}
	}
}

// FuzzParseDuration checks that a minus sign negates the duration, and that case and surrounding blanks do not matter.
func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"1s", "-5min", "- 5", "2d", "9223372036854775807", "1.5s", "", "106751d"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		d, err := seconds(text)
		if err != nil {
			if d != 0 {
				t.Errorf("%v together with %v", d, err)
			}
			return
		}

		if again, err := seconds("\t" + text + " "); err != nil || again != d {
			t.Errorf("%q is %v, with blanks %v, %v", text, d, again, err)
		}

		if trimmed := trim(text); d >= 0 && trimmed[0] != '-' {
			if negative, err := seconds("-" + trimmed); err != nil || negative != -d {
				t.Errorf("%q is %v, negative %v, %v", text, d, negative, err)
			}
		}
	})
}
