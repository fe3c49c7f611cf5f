package authentication_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/testing/storetest"
	"github.com/fakecluster/fakecluster/store"
)

// accepted is a cluster with the token "secret" and a service account, by a clock that tests turn.
type accepted struct {
	*authentication.Authenticator
	t     testing.TB
	store *store.Store
	now   time.Time
	jwt   string // a token of the service account, for an hour

	issuer  *authentication.Issuer
	patches []string // of Secrets
}

// patch remembers a patch of a Secret.
func (u *accepted) patch(_ context.Context, namespace, name string, patch []byte) error {
	u.patches = append(u.patches, namespace+"/"+name+" "+string(patch))
	return nil
}

const robotKey = "/registry/serviceaccounts/default/robot"

func newAccepted(t testing.TB) *accepted {
	s := storetest.Open(t, store.Options{HistoryRevisions: 50})
	storetest.Put(t, s, robotKey, map[string]any{"metadata": map[string]any{"name": "robot", "namespace": "default", "uid": "7"}})
	u := &accepted{t: t, store: s, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	now := func() time.Time { return u.now }
	issuer := authentication.NewIssuer(authentication.Accounts{})
	u.issuer = issuer
	var err error
	if u.Authenticator, err = authentication.NewAuthenticator(t.Context(), "secret", issuer, authentication.Users{}, s, storetest.Prefix, now, u.patch); err != nil {
		t.Fatal(err)
	}
	account := api.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: "default", UID: "7"}}
	public, private, err := serviceaccount.Claims(account, nil, nil, nil, nil, nil, 3600, 0, issuer.Audiences(), nil)
	if err != nil {
		t.Fatal(err)
	}
	generator, err := issuer.Generator(now)
	if err != nil {
		t.Fatal(err)
	}
	if u.jwt, err = generator.GenerateToken(context.Background(), public, private); err != nil {
		t.Fatal(err)
	}
	return u
}

func bearing(token string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
}

// who is the user of a token: the name and the groups; "nobody" if the token is refused.
func (u *accepted) who(token string) string {
	by, ok, err := u.Authenticate(bearing(token))
	if err != nil || !ok {
		return "nobody"
	}
	return fmt.Sprint(by.GetName(), by.GetGroups())
}

// Each token is authenticated twice: the second time the first verdict may be remembered.
func TestTokensAreWhatTheySay(t *testing.T) {
	u := newAccepted(t)
	jane := u.TokenFor("jane", "dev")
	payload, signature, _ := strings.Cut(jane, ".")
	other, _, _ := strings.Cut(u.TokenFor("root", "system:masters"), ".")
	const robot = "system:serviceaccount:default:robot[system:serviceaccounts system:serviceaccounts:default system:authenticated]"
	for _, c := range []struct{ rule, token, want string }{
		{"the cluster's own", "secret", "kubernetes-admin[system:masters system:authenticated]"},
		{"a user", jane, "jane[dev system:authenticated]"},
		{"a user without groups", u.TokenFor("joe"), "joe[system:authenticated]"},
		{"a service account", u.TokenForServiceAccount("default", "robot"), robot},
		{"a service account that is not there", u.TokenForServiceAccount("default", "none"), "nobody"},
		{"a JSON Web Token", u.jwt, robot},
		{"another payload under the signature", other + "." + signature, "nobody"},
		{"another signature", payload + "." + signature[1:], "nobody"},
		{"no signature", payload, "nobody"},
		{"an empty signature", payload + ".", "nobody"},
		{"nothing", "", "nobody"},
		{"a JSON Web Token that is cut off", u.jwt[:len(u.jwt)-2], "nobody"},
		{"a JSON Web Token with another signature", u.jwt[:strings.LastIndex(u.jwt, ".")] + ".AAAA", "nobody"},
	} {
		for range 2 {
			if got := u.who(c.token); got != c.want {
				t.Errorf("%s: %s, want %s", c.rule, got, c.want)
			}
		}
	}
}

func TestWhatIsRememberedEnds(t *testing.T) {
	u := newAccepted(t)
	account := u.TokenForServiceAccount("default", "robot")
	check := func(rule string, jwt, own bool) {
		t.Helper()
		if got := u.who(u.jwt) != "nobody"; got != jwt {
			t.Errorf("%s: the JSON Web Token is good: %v", rule, got)
		}
		if got := u.who(account) != "nobody"; got != own {
			t.Errorf("%s: the other token is good: %v", rule, got)
		}
	}
	check("at first", true, true)
	u.now = u.now.Add(time.Hour)
	check("after an hour, with a minute of leeway", true, true)
	u.now = u.now.Add(2 * time.Minute)
	check("later", false, true)
	u.now = u.now.Add(-2 * time.Minute)
	check("by a clock that was turned back", true, true)
	storetest.Put(t, u.store, robotKey, nil)
	check("the service account is deleted", false, false)
	storetest.Put(t, u.store, robotKey, map[string]any{"metadata": map[string]any{"name": "robot", "namespace": "default", "uid": "8"}})
	check("another one of the name", false, true)
}

// BenchmarkAuthenticate is what it takes to find the user of a request.
func BenchmarkAuthenticate(b *testing.B) {
	u := newAccepted(b)
	for _, c := range []struct{ name, token string }{
		{"admin", "secret"}, {"user", u.TokenFor("jane", "dev")}, {"service account", u.TokenForServiceAccount("default", "robot")}, {"JSON Web Token", u.jwt},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			req := bearing(c.token)
			header := req.Header["Authorization"]
			for b.Loop() {
				req.Header["Authorization"] = header // upstream takes it away
				if _, ok, err := u.Authenticate(req); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
