package intree

import "testing"

func TestPluginsAreTurnedOffByName(t *testing.T) {
	for _, test := range []struct {
		name    string
		disable []string
		err     string
	}{
		{"some", []string{"PodSecurity", "LimitRanger"}, ""},
		{"one that is not there anyway", []string{"ServiceAccount", "ResourceQuota"}, ""},
		{"one that there is nowhere", []string{"PodSecurity", "Guard"}, `disable-admission-plugins plugin "Guard" is unknown`},
		{"one with an option of its own", []string{"NamespaceLifecycle"}, "fakecluster cannot turn the admission plugin NamespaceLifecycle off"},
	} {
		t.Run(test.name, func(t *testing.T) {
			choice, err := NewChoice(test.disable)
			if got := message(err); got != test.err {
				t.Fatalf("got %q, want %q", got, test.err)
			}
			if err != nil {
				return
			}
			for _, name := range test.disable {
				if !choice[name] {
					t.Errorf("%s is on", name)
				}
			}
			if choice["Priority"] {
				t.Error("another one is off")
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
