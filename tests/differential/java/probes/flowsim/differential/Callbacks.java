package flowsim.differential;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Lets a Python callback throw what Java code throws: py4j itself makes one kind of exception of them all. */
public final class Callbacks {
    private static final Pattern THROWS = Pattern.compile("<throws ([\\w.$]+): (.*?)>");

    private Callbacks() {}

    public static Object throwing(Class<?> type, Object callback) {
        return Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> {
                    try {
                        return method.invoke(callback, arguments);
                    } catch (InvocationTargetException e) {
                        Matcher asked = THROWS.matcher(String.valueOf(e.getCause().getMessage()));
                        if (!asked.find()) {
                            throw e.getCause();
                        }
                        throw (Throwable)
                                Class.forName(asked.group(1)).getConstructor(String.class).newInstance(asked.group(2));
                    }
                });
    }
}
