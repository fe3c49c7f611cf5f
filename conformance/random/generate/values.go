package generate

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// Source is a source of random decisions.
type Source struct{ *rand.Rand }

// chance is true in some of 100 cases.
func (r Source) chance(percent int) bool { return r.IntN(100) < percent }

// pick returns one of several values.
func pick[T any](r Source, values ...T) T { return values[r.IntN(len(values))] }

// numbers are beyond the range of a type, on its border, or written in an unusual way. They are texts, so that they reach the server as they are.
var numbers = []string{
	"0", "-0", "-0.0", "0.0", "1", "1.0", "2.0", "1e0", "1e3", "1E3", "1.5", "-1", "-1.5", "1e-7", "0.1", "100", "255", "65535", "65536", "80", "3600",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "3000000000", "4294967295", "4294967298", "9007199254740993",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551617",
	"1e18", "1e19", "1e21", "123456789012345678901234567890", "1e308", "1e400", "-1e400", "1.7976931348623157e308", "5e-324", "0.30000000000000004", "1.10",
}

// texts are empty, too long, or nearly something: a time, a duration, a quantity, base64, an address, a name, a number.
var texts = []string{
	"", " ", "a", "A", "a b", "-", "-a", "a-", ".", "..", "a/b", "/a", "a//b", "é", "\u2028", "\u0000", "\ufffd", "a\nb", "%s", "$(A)", "${A", "{{", "<b>&", `"`, `\`, "null", "true", "false",
	"0", "1", "-1", "01", "1.5", "1e3", "1E3", "0x10", "+1", "1Ki", "1ki", "100m", "0.1m", "1.5.5", "1E", "1n", "-1Gi", "9223372036854775808", "1e400", ".5", "5.", "1 Gi", "0.0001", "12e6", "1000000000000000000000",
	"2001-01-01T00:00:00Z", "2001-01-01T00:00:00.5Z", "2001-01-01T00:00:00.123456789Z", "2001-01-01T00:00:00+02:00", "2001-02-30T00:00:00Z", "2001-01-01", "2001-01-01 00:00:00", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60Z", "now",
	"5s", "1h30m", "-5s", "5", "1d", "1.5h", "MTIz", "MTI", "MTI=", "a===", "MTIz\n", "_-__",
	"10.0.0.300", "1.2.3.4", "01.2.3.4", "::1", "::ffff:1.2.3.4", "1.2.3.4/33", "1.2.3.4/8", "fd00::/64", "localhost", "a.b.c", "a_b", "*.a.b", "http://x", "https://x:99999/y?z", "a:b", "a:1", "a@b",
	"TCP", "tcp", "Always", "always", "None", "Never", "Default", "ClusterIP", "IPv4", "v1", "apps/v1", "v1/v1/v1", "Pod", "app=a", "a in (b)", "0 0 * * *", "* * * *", "@daily", "UTC", "Europe/Nowhere", "50%", "150%", "-1%", "%",
	"example.com/a", "kubernetes.io/a", "k8s.io/a", "example.com/" + strings.Repeat("n", 64),
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254), strings.Repeat("a.", 127), strings.Repeat("é", 32),
}

// odd returns a value that has little to do with the type of a field.
func (r Source) odd(depth int) any {
	switch r.IntN(11) {
	case 0, 1, 2:
		return json.Number(pick(r, numbers...))
	case 3, 4, 5:
		return pick(r, texts...)
	case 6:
		return nil
	case 7:
		return r.chance(50)
	case 8:
		return map[string]any{}
	case 9:
		return []any{}
	}
	if depth <= 0 {
		return nil
	}
	if r.chance(50) {
		list := []any{}
		for range 1 + r.IntN(2) {
			list = append(list, r.odd(depth-1))
		}
		return list
	}
	fields := map[string]any{}
	for range 1 + r.IntN(2) {
		fields[pick(r, "", "a", "A", "b", "name", "key", "value", "type", "metadata", "labels", "a/b", "example.com/a", "é", "$patch", "$retainKeys")] = r.odd(depth - 1)
	}
	return fields
}
