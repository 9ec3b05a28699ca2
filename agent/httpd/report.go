package httpd

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/view"
)

const (
	// reportAction is the question for a report, as it travels between agents. It is no order: every member may ask it, and no audit log has it.
	reportAction = "report"
	// reportTimeout is how long the other agents may take.
	reportTimeout = 1500 * time.Millisecond
	// maxReportsAsked is how many of them are asked at once: reports must not take the room of orders.
	maxReportsAsked = 16
	// maxReportGroups is how many groups a report has views of.
	maxReportGroups = 16
)

// Reports asks the agents of the members that are heard how they are, and what they believe of groups. It returns what they say, and what this one does, in
// the order of the council. It leaves out members that do not answer in time.
func (s *Server) Reports(ctx context.Context, groups []string) []api.Report {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	groups = groups[:min(len(groups), maxReportGroups)]
	members := s.core.Members()
	said := make([]*api.Report, len(members))
	room := make(chan struct{}, maxReportsAsked)
	var all sync.WaitGroup
	for i := range members {
		switch m := &members[i]; {
		case m.Self:
			own := s.report(groups)
			said[i] = &own
		case m.Heard && !m.Silent:
			all.Go(func() {
				room <- struct{}{}
				said[i] = s.askReport(ctx, m.Name, groups)
				<-room
			})
		}
	}
	all.Wait()
	var out []api.Report
	for _, r := range said {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out
}

// askReport returns the report of another member; nil if it gives none.
func (s *Server) askReport(ctx context.Context, at string, groups []string) *api.Report {
	body, err := json.Marshal(api.ReportOrder{Groups: groups})
	if err != nil {
		return nil
	}
	text, err := json.Marshal(passedOrder{At: at, Action: reportAction, Body: body})
	if err != nil {
		return nil
	}
	text, err = s.core.Send(ctx, at, text)
	var answer passedAnswer
	if err != nil || json.Unmarshal(text, &answer) != nil || answer.Error != "" {
		return nil
	}
	var r api.Report
	if json.Unmarshal(answer.Body, &r) != nil || r.Status.Name != at || len(r.Views) != len(groups) {
		return nil
	}
	return &r
}

// report is what this agent says of its own member.
func (s *Server) report(groups []string) api.Report {
	r := api.Report{Status: s.core.Status(), Members: s.core.Members()}
	r.Status.Council, r.Status.Dropped, r.Status.Unlisted = nil, nil, nil
	for _, group := range groups {
		if r.Status.Stopping { // it follows the groups no more
			r.Views = append(r.Views, view.MemberView{Member: r.Status.Name})
			continue
		}
		var v regent.View
		if c, _ := s.core.Known().Group(group); c != nil {
			v = c.View
		}
		r.Views = append(r.Views, v.Of(r.Status.Name))
	}
	return r
}

// reportRoom is how much of a message remains for what surrounds a report.
const reportRoom = order.MaxBody - 256

// answerReport answers the question of another member.
func (s *Server) answerReport(p *passedOrder) (passedAnswer, error) {
	var asked api.ReportOrder
	if err := strict(p.Body, &asked); err != nil {
		return passedAnswer{}, err
	}
	r := s.report(asked.Groups[:min(len(asked.Groups), maxReportGroups)])
	for {
		body, err := json.Marshal(r)
		switch {
		case err != nil:
			return passedAnswer{}, err
		case len(body) <= reportRoom:
			return passedAnswer{Status: 200, Body: body}, nil
		case len(r.Members) > 0:
			r.Members = r.Members[:len(r.Members)*3/4]
		default:
			for i, v := range r.Views {
				r.Views[i] = view.MemberView{Member: v.Member} // as if it had not answered
			}
			r.Status = api.AgentStatus{Status: regent.Status{Name: r.Status.Name}}
		}
	}
}
