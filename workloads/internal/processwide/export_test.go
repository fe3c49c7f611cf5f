package processwide

// IsController reports whether a function is of one of Kubernetes' controllers.
var IsController = isController
