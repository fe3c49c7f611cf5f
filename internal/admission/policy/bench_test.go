package policy_test

import (
	"fmt"
	"testing"
)

// What policies add to a write.
func BenchmarkPolicies(b *testing.B) {
	for _, bb := range []struct {
		name string
		add  func(*configured)
	}{
		{"50 of other resources", func(c *configured) {
			for i := range 50 {
				c.validate(fmt.Sprint("p", i), constraints("", fmt.Sprint("others", i))+`,"validations":[{"expression":"true"}]`)
			}
		}},
		{"50 of other namespaces", func(c *configured) {
			for i := range 50 {
				c.validate(fmt.Sprint("p", i), constraints(fmt.Sprintf(`"namespaceSelector":{"matchLabels":{"env":"e%d"}},`, i), "*")+`,"validations":[{"expression":"true"}]`)
			}
		}},
		{"50 of other objects", func(c *configured) {
			for i := range 50 {
				c.validate(fmt.Sprint("p", i), constraints(fmt.Sprintf(`"objectSelector":{"matchLabels":{"app":"e%d"}},`, i), "*")+`,"validations":[{"expression":"true"}]`)
			}
		}},
		{"three validations", func(c *configured) {
			c.validate("p", constraints("", "configmaps")+`,"validations":[{"expression":"object.data.size() < 10","message":"m"},
				{"expression":"object.data.all(k, k.size() < 20)"},{"expression":"object.metadata.name.startsWith('a')"}]`)
		}},
		{"three validations with messages, a variable and a condition", func(c *configured) {
			c.validate("p", constraints("", "configmaps")+`,"variables":[{"name":"v","expression":"object.data.a"}],
				"matchConditions":[{"name":"c","expression":"request.userInfo.username == 'me'"}],
				"validations":[{"expression":"variables.v == 'x'","messageExpression":"'a is ' + variables.v"},
				{"expression":"object.data.all(k, k.size() < 20)"},{"expression":"object.metadata.name.startsWith('a')"}]`)
		}},
		{"a JSON patch", func(c *configured) {
			c.mutate("p", constraints("", "configmaps")+`,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/data/b', value: 'c'}]"}}]`)
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var c configured
			bb.add(&c)
			plugin, w := c.plugin(b), newWorld()
			b.ReportAllocs()
			for b.Loop() {
				write := w.create(b.Context(), map[string]string{"a": "x"})
				if err := plugin.Mutate(b.Context(), write); err != nil {
					b.Fatal(err)
				}
				if err := plugin.Validate(b.Context(), write); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
