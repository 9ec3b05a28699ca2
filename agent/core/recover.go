package core

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/roster"
)

// recoverWait bounds how long an answer about a council that is given up waits for its end.
const recoverWait = 5 * time.Minute

// RecoverCouncil gives the council up for lack of a majority, and goes on with the members that are left. It returns once these are a council that
// can elect, or as soon as the order's time has passed.
func (a *Agent) RecoverCouncil(ctx context.Context, o *api.RecoverOrder) (api.RecoverInfo, error) {
	m := a.speaking()
	if m == nil {
		return api.RecoverInfo{}, ErrJoining
	}
	ctx, cancel := context.WithTimeout(ctx, min(recoverWait, max(acceptWait, o.Wait)))
	defer cancel()
	look, err := m.Recover(ctx, o.Recovery)
	a.statusCache.forget()
	info := api.RecoverInfo{Outlook: look, Unpromised: roster.Unpromised(), Done: err == nil}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !o.Try:
		return info, nil // what was agreed on goes on
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, regent.ErrClosed):
		return info, api.WithStatus(http.StatusConflict, err)
	}
	return info, err
}

// AcknowledgeCouncil takes note of what can no longer be promised since a council was given up.
func (a *Agent) AcknowledgeCouncil(ctx context.Context) (api.CouncilInfo, error) {
	m := a.speaking()
	if m == nil {
		return api.CouncilInfo{}, ErrJoining
	}
	ctx, cancel := context.WithTimeout(ctx, councilWait)
	defer cancel()
	now, err := m.Acknowledge(ctx)
	a.statusCache.forget()
	info := councilInfo(now)
	info.Done = err == nil
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, regent.ErrClosed) {
		err = api.WithStatus(http.StatusConflict, err)
	}
	return info, err
}
