package org.apache.flink.runtime.operators.coordination;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.checkpoint.DirectMainThread;
import org.apache.flink.runtime.messages.Acknowledge;
import org.apache.flink.runtime.operators.coordination.util.IncompleteFuturesTracker;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** The real SubtaskGatewayImpl under a script of JSON commands; the first entry of the script is empty. */
public final class Gateways {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final class Event implements OperatorEvent {}

    private final List<Long> sent = new ArrayList<>();
    private final SubtaskGatewayImpl gateway;
    private long number;

    private Gateways() {
        SubtaskAccess access =
                (SubtaskAccess)
                        Proxy.newProxyInstance(
                                Gateways.class.getClassLoader(),
                                new Class<?>[] {SubtaskAccess.class},
                                (proxy, method, arguments) -> answer(method.getName()));
        gateway = new SubtaskGatewayImpl(access, new DirectMainThread(), new IncompleteFuturesTracker());
    }

    public static String run(String text) throws Exception {
        JsonNode script = JSON.readTree(text);
        Gateways gateways = new Gateways();
        List<Object> answers = new ArrayList<>();
        for (int i = 1; i < script.size(); i++) {
            answers.add(gateways.execute(script.get(i)));
        }
        return JSON.writeValueAsString(answers);
    }

    private Object answer(String method) {
        switch (method) {
            case "createEventSendAction":
                long event = number;
                return (Callable<CompletableFuture<Acknowledge>>)
                        () -> {
                            sent.add(event);
                            return CompletableFuture.completedFuture(Acknowledge.get());
                        };
            case "hasSwitchedToRunning":
                return CompletableFuture.completedFuture(null);
            case "isStillRunning":
                return true;
            case "getSubtaskIndex":
                return 0;
            case "subtaskName":
                return "scripted";
            default:
                return null;
        }
    }

    private Map<String, Object> execute(JsonNode c) {
        sent.clear();
        Map<String, Object> answer = new TreeMap<>();
        answer.put("ret", null);
        answer.put("err", null);
        try {
            switch (c.get(0).asText()) {
                case "send":
                    number = c.get(1).asLong();
                    gateway.sendEvent(new Event());
                    break;
                case "mark":
                    gateway.markForCheckpoint(c.get(1).asLong());
                    break;
                case "close":
                    answer.put("ret", gateway.tryCloseGateway(c.get(1).asLong()));
                    break;
                case "open":
                    gateway.openGatewayAndUnmarkCheckpoint(c.get(1).asLong());
                    break;
                case "open_last":
                    gateway.openGatewayAndUnmarkLastCheckpointIfAny();
                    break;
                default:
                    gateway.openGatewayAndUnmarkAllCheckpoint();
            }
        } catch (RuntimeException error) {
            answer.put("err", error.getClass().getSimpleName());
        }
        answer.put("sent", List.copyOf(sent));
        return answer;
    }
}
