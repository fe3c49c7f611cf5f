package seeded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"
)

// Durations returns random durations that depend on the seed and a key.
type Durations struct {
	Seed uint64
	Key  string
}

// share returns a number in [0, 1).
func (j Durations) share(what string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.FormatUint(j.Seed, 16) + "/" + j.Key + "/" + what))
	// The finalizer of splitmix64 spreads the changes of the last bytes over all bits.
	x := h.Sum64()
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return float64((x^(x>>31))>>11) / (1 << 53)
}

// Between returns a duration from low to high, in whole milliseconds.
func (j Durations) Between(what string, low, high time.Duration) time.Duration {
	return (low + time.Duration(j.share(what)*float64(high-low))).Truncate(time.Millisecond)
}

// Around returns a duration that differs from d by at most a share of it, in both directions.
func (j Durations) Around(what string, d time.Duration, share float64) time.Duration {
	return d + time.Duration((2*j.share(what)-1)*share*float64(d))
}

// Digest returns 64 hexadecimal digits that depend on the parts.
func Digest(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendln(nil, parts...))
	return hex.EncodeToString(sum[:])
}
