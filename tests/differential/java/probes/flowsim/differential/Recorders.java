package flowsim.differential;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** Objects of interfaces with many methods, of which a probe needs few. */
public final class Recorders {
    private Recorders() {}

    /** An object whose methods call {@code handler}, which may answer {@link #nothing}. */
    @SuppressWarnings("unchecked")
    public static <T> T recorder(Class<T> type, InvocationHandler handler) {
        return (T)
                Proxy.newProxyInstance(
                        Recorders.class.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> {
                            switch (method.getName()) {
                                case "hashCode":
                                    return System.identityHashCode(proxy);
                                case "equals":
                                    return proxy == arguments[0];
                                case "toString":
                                    return type.getSimpleName();
                                default:
                                    return handler.invoke(proxy, method, arguments);
                            }
                        });
    }

    /** False, zero or null, as the method's type asks for. */
    public static Object nothing(Method method) {
        Class<?> type = method.getReturnType();
        if (type == boolean.class) {
            return false;
        }
        if (type == int.class) {
            return 0;
        }
        return type == long.class ? (Object) 0L : null;
    }
}
