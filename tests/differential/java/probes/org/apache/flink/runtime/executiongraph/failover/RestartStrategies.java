package org.apache.flink.runtime.executiongraph.failover;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.util.clock.ManualClock;

/** The real restart strategies under scripts of JSON commands. */
public final class RestartStrategies {
    private static final ObjectMapper JSON = new ObjectMapper();

    private RestartStrategies() {}

    /** {@code [{"kind": name, "start": ms, "params": {...}}, command, ...]}. */
    public static String run(String text) throws Exception {
        JsonNode script = JSON.readTree(text);
        ManualClock clock = new ManualClock(0);
        clock.advanceTime(Duration.ofMillis(script.get(0).get("start").asLong()));
        RestartBackoffTimeStrategy strategy = strategy(script.get(0), clock);
        List<Object> answers = new ArrayList<>();
        for (int i = 1; i < script.size(); i++) {
            JsonNode c = script.get(i);
            if (c.size() > 1) {
                clock.advanceTime(Duration.ofMillis(c.get(1).asLong() - clock.relativeTimeMillis()));
            }
            switch (c.get(0).asText()) {
                case "query":
                    answers.add(Map.of("can_restart", strategy.canRestart()));
                    break;
                case "failure":
                    boolean isNew = strategy.notifyFailure(new Exception("scripted"));
                    boolean restarts = strategy.canRestart();
                    answers.add(Map.of("new_attempt", isNew, "can_restart", restarts, "delay", strategy.getBackoffTime()));
                    break;
                default:
                    answers.add(delay(strategy));
            }
        }
        return JSON.writeValueAsString(answers);
    }

    private static Object delay(RestartBackoffTimeStrategy strategy) {
        try {
            return Map.of("delay", strategy.getBackoffTime());
        } catch (IllegalStateException error) {
            return Map.of("err", List.of("IllegalStateException", error.getMessage()));
        }
    }

    private static RestartBackoffTimeStrategy strategy(JsonNode description, ManualClock clock) {
        JsonNode p = description.get("params");
        switch (description.get("kind").asText()) {
            case "fixed_delay":
                return new FixedDelayRestartBackoffTimeStrategy(p.get("attempts").asInt(), p.get("delay").asLong());
            case "failure_rate":
                return new FailureRateRestartBackoffTimeStrategy(
                        clock, p.get("max_failures").asInt(), p.get("interval").asLong(), p.get("delay").asLong());
            default:
                return new ExponentialDelayRestartBackoffTimeStrategy(
                        clock,
                        p.get("initial").asLong(),
                        p.get("max").asLong(),
                        p.get("multiplier").asDouble(),
                        p.get("threshold").asLong(),
                        0.0,
                        p.get("attempts").asInt());
        }
    }
}
