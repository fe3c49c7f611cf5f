package rest

import "github.com/fakecluster/fakecluster/restoptions"

// Services are the services that webhooks and APIServices refer to.
type Services = restoptions.Services
