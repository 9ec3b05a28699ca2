package api

// PageSession is who looks at the dashboard, and what that client may do. The page shows the reasons beside the buttons that they concern.
type PageSession struct {
	// Who names the client, such as "token ops" or "uid 1000".
	Who string `json:"who,omitempty"`
	// LoggedIn says that the client logged in on this page. CanLogIn says that there are tokens to log in with, and that the page came by a way
	// on which a login is safe.
	LoggedIn bool `json:"loggedIn,omitempty"`
	CanLogIn bool `json:"canLogIn,omitempty"`
	// MayLook and MayOrder say what the client may do, and Reason why not all of it.
	MayLook  bool   `json:"mayLook"`
	MayOrder bool   `json:"mayOrder"`
	Reason   string `json:"reason,omitempty"`
	// Key is what orders of this page name in a header, so that no page of another site can give them. Only a login's answer has that of the login.
	Key string `json:"key,omitempty"`
	// AllReason is why the client may not operate all groups, as a drain of this host does; empty if it may. RemoteReason is why it may not do so on other
	// hosts.
	AllReason    string `json:"allReason,omitempty"`
	RemoteReason string `json:"remoteReason,omitempty"`
	// GroupReason is why the client may not operate the group that was asked about; empty if it may. GroupRemoteReason is why it may not do so if another
	// host leads the group.
	GroupReason       string `json:"groupReason,omitempty"`
	GroupRemoteReason string `json:"groupRemoteReason,omitempty"`
}

// LoginOrder is the body of a login.
type LoginOrder struct {
	Token string `json:"token"`
}
