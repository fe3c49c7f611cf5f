package rest

import (
	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/restoptions"
)

// The options that internal packages also use.
type (
	// Users are the users that a server accepts besides those of its own credentials. The zero value: no others.
	Users = restoptions.Users
	// Accounts configure the tokens of service accounts: how they are issued, and which are accepted. The zero value: the
	// server makes a key, and issues tokens as kubeadm configures it.
	Accounts = restoptions.Accounts
	// ModeOptions are the authorizers of a server, in the words of the flags of kube-apiserver.
	ModeOptions = restoptions.Modes
	// Network has the addresses in the initial objects of a server: those of services and of the server itself. The zero
	// value: services have the range 10.0.0.0/24, and the server has the address 192.0.2.1 and the port 6443.
	Network = restoptions.Network
	// Services are the services that webhooks and APIServices refer to.
	Services = restoptions.Services
)

// Modes decide what users may do: authorizers that are called one after the other.
type Modes struct{ are *auth.Modes }

// NewModes reads the files that the options name. The errors are those of kube-apiserver.
func NewModes(o ModeOptions) (*Modes, error) {
	are, err := auth.NewModes(o)
	if err != nil {
		return nil, err
	}
	return &Modes{are}, nil
}

// Has reports whether a mode is among them.
func (m *Modes) Has(mode string) bool { return m.are.Has(mode) }
