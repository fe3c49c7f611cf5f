package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	namespaces = kind{"", "namespaces"}
	accounts   = kind{"", "serviceaccounts"}
)

// defaultAccount is the name of the ServiceAccount that each namespace has.
const defaultAccount = "default"

// serviceAccounts creates the ServiceAccount default in each active namespace, and creates it
// again when it is deleted.
func serviceAccounts() *controller {
	return &controller{
		account: "service-account-controller",
		follows: []followed{
			{kind: namespaces, begins: true, concerns: changedNamespace},
			{kind: accounts, concerns: func(_ *step, c change, add func(namespace, name string)) error {
				if c.Deleted {
					add("", c.Namespace)
				}
				return nil
			}},
		},
		keep: func(s *step, key types.NamespacedName) error {
			ns, err := find[*corev1.Namespace](s, namespaces, "", key.Name)
			if err != nil || ns == nil || ns.Status.Phase != corev1.NamespaceActive {
				return err
			}
			account, err := find[*corev1.ServiceAccount](s, accounts, ns.Name, defaultAccount)
			if err != nil || account != nil {
				return err
			}
			err = s.create(accounts, ns.Name, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: defaultAccount, Namespace: ns.Name}})
			if isTerminating(err) {
				return nil
			}
			return err
		},
	}
}

// changedNamespace adds a namespace that has been created or changed.
func changedNamespace(_ *step, c change, add func(namespace, name string)) error {
	if !c.Deleted {
		add("", c.Name)
	}
	return nil
}
