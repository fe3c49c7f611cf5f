// Package admissionregistration defaults and validates the policies of
// admissionregistration.k8s.io and their bindings, as k8s.io/kubernetes'
// pkg/apis/admissionregistration does. It has the same words.
//
// Expressions are compiled where they are validated: what is stored can be
// carried out. New ones may use what servers of the release before know, so that
// one can go back to it; those that are stored already may use what this one knows.
package admissionregistration
