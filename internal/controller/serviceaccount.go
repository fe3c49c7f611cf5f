package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	namespaces = kind{"", "namespaces"}
	accounts   = kind{"", "serviceaccounts"}
)

// defaultAccount is the name of the ServiceAccount that each namespace has.
const defaultAccount = "default"

// serviceAccounts creates the ServiceAccount default in each active namespace, and recreates it when it is deleted.
func serviceAccounts() *controller {
	return &controller{
		identity: ServiceAccount("service-account-controller"),
		follows: []followed{
			{kind: namespaces, begins: true, concerns: changedNamespace},
			{kind: accounts, concerns: func(s *step, c change) error {
				if c.Deleted {
					s.enqueue(key{name: c.Namespace})
				}
				return nil
			}},
		},
		sync: func(s *step, k key) error {
			ns, err := find[*corev1.Namespace](s, namespaces, "", k.name)
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
func changedNamespace(s *step, c change) error {
	if !c.Deleted {
		s.enqueue(key{name: c.Name})
	}
	return nil
}
