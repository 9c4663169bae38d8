-- The portfolio of an unnamed software developer: data to try kb_search with, and a pattern to copy.
-- Plain SQL for the default collection. Run it as often as you like: an entry that is there already
-- (same section and title) stays as it is. The database keeps whatever is derived from it.

INSERT INTO kb_search.entry (section, title, content, aliases, tags) VALUES

-- identidad: who is speaking; these rows also stand behind an answer that is not certain.
('identidad', 'Quién soy',
 'Soy desarrollador de software independiente, con más de doce años de oficio. Diseño y construyo aplicaciones web de principio a fin: la base de datos, el servidor, la interfaz y la puesta en producción. Empecé en una consultora, pasé por una empresa de medios de pago y hoy acompaño a pymes y equipos técnicos que necesitan software fiable, seguro y fácil de mantener. Me gusta explicar las cosas sin jerga y dejar el código en condiciones de que otra persona pueda seguir con él.',
 ARRAY['¿quién eres?', '¿quién es?', 'preséntate', '¿a qué te dedicas?', '¿a qué se dedica?', 'cuéntame sobre ti', 'háblame de él', 'perfil profesional'],
 ARRAY['perfil', 'presentación']),

('identidad', 'Este asistente',
 'Soy el asistente virtual de esta página: un programa, no una persona. Respondo con lo que está escrito en el portafolio sobre proyectos, experiencia, tarifas, disponibilidad y servicios. Si no encuentro un dato, lo digo y propongo escribir directamente al desarrollador. No puedo firmar acuerdos, fijar precios definitivos ni ver datos privados de otros clientes.',
 ARRAY['¿eres un robot?', '¿eres un bot?', '¿eres una persona real?', '¿hablo con una máquina?', '¿qué te puedo preguntar?', '¿en qué me puedes ayudar?'],
 ARRAY['asistente', 'chatbot']),

-- skills: what the developer can do.
('skills', 'Lenguajes y tecnologías',
 'Trabajo a diario con Python, TypeScript y SQL. En el servidor uso FastAPI, Django y Node.js; en la interfaz, React y Vue; como base de datos, PostgreSQL casi siempre y Redis cuando hace falta una memoria rápida. Manejo Linux, Git, Docker y Terraform con soltura. He mantenido código en Java, PHP y Go, y puedo leerlo y corregirlo, aunque no lo ofrezco como especialidad.',
 ARRAY['¿qué tecnologías maneja?', '¿qué lenguajes de programación sabes?', '¿en qué programas?', 'stack tecnológico', 'habilidades técnicas', '¿cuáles son tus skills?', 'conocimientos'],
 ARRAY['stack', 'python', 'typescript', 'sql', 'node.js']),

('skills', 'Docker y contenedores',
 'Uso Docker desde 2015, en desarrollo y en producción. Escribo imágenes pequeñas en varias etapas, sin usuario root, y entornos de Docker Compose que arrancan con una sola orden. He pasado a contenedores once aplicaciones antiguas que vivían en un único servidor, con registros privados, análisis de vulnerabilidades de las imágenes y límites de memoria. Para cargas mayores he administrado clústeres de Kubernetes con Helm.',
 ARRAY['¿qué experiencia tiene con Docker?', '¿sabes Docker?', '¿trabaja con contenedores?', 'dockerizar una aplicación', 'docker compose', '¿conoce Kubernetes?'],
 ARRAY['docker', 'kubernetes', 'contenedores', 'devops']),

('skills', 'Bases de datos y PostgreSQL',
 'PostgreSQL es mi base de datos de cabecera desde la versión 9. Diseño esquemas, escribo consultas complejas, reviso planes de ejecución y ajusto índices: en un cliente una consulta de 40 segundos bajó a 90 milisegundos. Hago migraciones sin parar el servicio, copias de seguridad que se prueban cada mes y réplicas de lectura. También he trasladado datos desde MySQL, Oracle, SQL Server y hojas de Excel que nadie quería tocar.',
 ARRAY['¿sabe de bases de datos?', '¿trabajas con PostgreSQL?', 'optimizar consultas lentas', 'la base de datos va lenta', 'migrar de MySQL a Postgres', 'administración de bases de datos'],
 ARRAY['postgresql', 'sql', 'mysql', 'rendimiento']),

('skills', 'APIs y servicios en Python',
 'Construyo API REST con FastAPI o Django, documentadas con OpenAPI y cubiertas por pruebas automáticas. Cuido lo que se suele olvidar: la paginación, los errores que se entienden, los límites de uso, las versiones y la compatibilidad con clientes antiguos. He integrado pasarelas de pago, firmas electrónicas, mensajería y programas de contabilidad, con colas de tareas para que un proveedor lento no detenga a todo el sistema.',
 ARRAY['¿hace APIs?', '¿sabes Python?', 'desarrollo de backend', 'integrar mi sistema con otro programa', 'conectar con una pasarela de pago', 'webhooks'],
 ARRAY['python', 'fastapi', 'django', 'api', 'backend']),

('skills', 'Interfaces web y accesibilidad',
 'Desarrollo interfaces con React, Vue y TypeScript, o con HTML y CSS sencillos cuando no se necesita más. Diseño primero para el móvil, mido el tiempo de carga y compruebo el contraste, el teclado y los lectores de pantalla según las pautas WCAG 2.2. No soy diseñador gráfico: para la identidad visual colaboro con una diseñadora de confianza, o parto de los bocetos que me entregue el cliente.',
 ARRAY['¿hace frontend?', '¿sabes React?', '¿diseñas páginas web?', 'páginas que se vean bien en el celular', 'accesibilidad web', '¿haces el diseño también?'],
 ARRAY['react', 'vue', 'css', 'frontend', 'accesibilidad']),

('skills', 'Nube y despliegue continuo',
 'Pongo aplicaciones en AWS, en Hetzner o en los servidores del propio cliente. La infraestructura se describe con Terraform y Ansible, de modo que se puede volver a crear desde cero. Cada cambio pasa por integración continua (GitHub Actions o GitLab CI): pruebas, análisis de seguridad y un despliegue que se puede deshacer en un minuto. Instalo métricas y avisos con Prometheus y Grafana, y reviso la factura de la nube para que no dé sustos.',
 ARRAY['¿trabaja con AWS?', 'subir mi aplicación a la nube', 'CI/CD', 'integración continua', 'experiencia en DevOps', 'automatizar despliegues', 'bajar la factura de la nube'],
 ARRAY['aws', 'terraform', 'ci/cd', 'devops']),

('skills', 'C++, C# y .NET',
 'Durante cuatro años mantuve en C++17 el módulo de cálculo de un terminal de pago, con requisitos estrictos de memoria y de tiempo. En C# he trabajado con .NET 6 y .NET 8 para servicios internos y una aplicación de escritorio que lee balanzas industriales. Hoy acepto encargos de este tipo para corregir fallos, escribir pruebas o trasladar el programa a otra plataforma, no para empezar productos nuevos.',
 ARRAY['¿sabe C++?', '¿programas en C#?', '¿trabaja con .NET?', 'aplicaciones de escritorio para Windows', 'mantener código en C++'],
 ARRAY['c++', 'c#', '.net']),

('skills', 'Inteligencia artificial y chatbots',
 'Incorporo modelos de lenguaje donde aportan algo: buscadores que entienden preguntas, clasificación de correos, extracción de datos de documentos y chatbots que citan de dónde sale cada respuesta. Prefiero bases de conocimiento revisadas por personas y medidas de calidad antes que demostraciones vistosas. Trabajo con modelos en la nube y también con modelos abiertos instalados en el servidor del cliente cuando los datos no pueden salir de casa.',
 ARRAY['¿hace chatbots?', '¿sabe de IA?', 'machine learning', 'modelos de lenguaje', 'quiero un bot para mi web', 'RAG con mis documentos'],
 ARRAY['ia', 'chatbot', 'llm']),

('skills', 'Idiomas',
 'El español es mi lengua materna. Trabajo en inglés a diario, con nivel C1 certificado: reuniones, documentación y revisiones de código. Leo y escribo francés con nivel B1, suficiente para correos y manuales, y entiendo el catalán y el portugués. Puedo redactar la documentación de un proyecto en español o en inglés, lo que prefiera el equipo.',
 ARRAY['¿habla inglés?', '¿qué idiomas hablas?', '¿qué nivel de inglés tiene?', 'do you speak English?', '¿sabe francés?'],
 ARRAY['idiomas', 'inglés', 'francés']),

-- proyectos: an overview, then one entry a project.
('proyectos', 'Proyectos realizados',
 'He llevado a producción más de treinta proyectos. Los más representativos: Security Dashboard, un panel que reúne alertas de seguridad; Agenda Clínica, citas y recordatorios para centros de salud; Rutas de Reparto, que planifica las entregas de una flota de furgonetas; Mercado de Barrio, una tienda en línea compartida por comercios locales; y Lector de Facturas, que convierte papeles y PDF en asientos contables. De cada uno hay una ficha con el problema, la solución y el resultado.',
 ARRAY['¿qué proyectos ha hecho?', '¿en qué proyectos has trabajado?', 'muéstrame tus trabajos', 'ejemplos de trabajos anteriores', 'portafolio', 'casos de éxito', '¿qué ha construido?'],
 ARRAY['portafolio', 'proyectos']),

('proyectos', 'Proyecto: Security Dashboard',
 'Security Dashboard es un panel que reúne en una sola pantalla las alertas de cortafuegos, antivirus y servidores de una empresa de logística con nueve sedes. Agrupa los avisos repetidos, los ordena por riesgo y abre una incidencia cuando algo exige atención humana. Está hecho con Python, FastAPI, PostgreSQL y React, y procesa dos millones de eventos al día. Tras seis meses, el tiempo medio para detectar un incidente pasó de cuatro horas a doce minutos.',
 ARRAY['¿qué es Security Dashboard?', 'panel de seguridad', 'dashboard de ciberseguridad', 'proyecto de monitorización de alertas', 'panel de alertas en tiempo real'],
 ARRAY['seguridad', 'python', 'react', 'postgresql']),

('proyectos', 'Proyecto: Agenda Clínica',
 'Agenda Clínica gestiona las citas de catorce consultas de fisioterapia y odontología. Los pacientes reservan, cambian o anulan su hora desde el móvil y reciben un recordatorio por WhatsApp el día anterior. El personal ve las salas libres y las listas de espera sin llamadas cruzadas. Los datos de salud van cifrados y cada acceso queda registrado. Las ausencias sin aviso bajaron un 38 % en el primer trimestre. Tecnologías: Django, PostgreSQL, Vue.',
 ARRAY['sistema de citas médicas', 'aplicación para reservar turnos', 'software para clínicas', 'recordatorios por WhatsApp', 'agenda para consultorios'],
 ARRAY['salud', 'django', 'vue']),

('proyectos', 'Proyecto: Rutas de Reparto',
 'Rutas de Reparto calcula cada madrugada el recorrido de 45 furgonetas según los pedidos, las franjas horarias y las obras de la ciudad. El conductor sigue la ruta en una tableta que funciona también sin cobertura, y el destinatario ve en un mapa cuánto falta para su entrega. El algoritmo está escrito en Python con OR-Tools y PostGIS. La empresa recorre un 17 % menos de kilómetros y ha dejado de imprimir hojas de ruta.',
 ARRAY['optimización de rutas', 'software de logística', 'seguimiento de repartidores', 'planificar entregas', 'aplicación para transportistas'],
 ARRAY['logística', 'python', 'postgis']),

('proyectos', 'Proyecto: Mercado de Barrio',
 'Mercado de Barrio es una tienda en línea compartida por 62 comercios de proximidad: fruterías, librerías, ferreterías. Cada comerciante sube sus productos desde el teléfono, el comprador paga una sola vez y el dinero se reparte solo entre las tiendas. Incluye recogida en un punto común, cupones y un buscador que perdona faltas de ortografía. Desarrollada con Node.js, TypeScript y PostgreSQL; en su primer año movió 410.000,50 € en ventas.',
 ARRAY['tienda online', 'proyecto de comercio electrónico', 'ecommerce', 'marketplace de comercios locales', '¿has hecho tiendas en línea?', 'vender por internet'],
 ARRAY['ecommerce', 'node.js', 'typescript']),

('proyectos', 'Proyecto: Lector de Facturas',
 'Lector de Facturas recibe por correo facturas escaneadas o en PDF, reconoce el emisor, las fechas, las bases y los impuestos, y propone el asiento contable. Una persona solo revisa los casos dudosos, que la pantalla señala en amarillo. Lo usa una gestoría con 300 clientes y ahorra unas 25 horas de tecleo a la semana. Combina OCR, reglas propias y un modelo de lenguaje pequeño que se ejecuta en el servidor de la gestoría.',
 ARRAY['OCR de facturas', 'digitalizar documentos', 'extraer datos de PDF', 'automatizar la contabilidad', 'leer facturas escaneadas'],
 ARRAY['ocr', 'ia', 'contabilidad']),

-- experiencia: where and what.
('experiencia', 'Trayectoria profesional',
 'Más de doce años programando por oficio. De 2012 a 2015, programador en una consultora, con aplicaciones para ayuntamientos y universidades. De 2015 a 2020, desarrollador y después responsable técnico en una empresa de medios de pago. Desde 2020 trabajo por cuenta propia para clientes de España, México, Colombia y Chile, en proyectos de entre dos semanas y dos años. El currículum completo se envía a quien lo pida.',
 ARRAY['¿cuántos años de experiencia tiene?', 'experiencia laboral', '¿dónde ha trabajado?', 'currículum', 'CV', 'historial de empleos', '¿en qué empresas has estado?'],
 ARRAY['trayectoria', 'cv']),

('experiencia', 'Experiencia en banca y medios de pago',
 'Pasé cinco años en una empresa que procesa pagos con tarjeta. Allí trabajé en la autorización de operaciones, la conciliación diaria con los bancos y la detección de fraude, con picos de 900 operaciones por segundo. Participé en dos auditorías PCI DSS y en la adaptación a la autenticación reforzada de la directiva PSD2. De esa etapa conservo la costumbre de registrar todo movimiento de dinero dos veces y de probar los fallos antes que los aciertos.',
 ARRAY['¿ha trabajado con bancos?', 'experiencia en fintech', 'pagos con tarjeta', 'PCI DSS', 'prevención de fraude', 'sector financiero'],
 ARRAY['fintech', 'pagos', 'pci dss']),

('experiencia', 'Liderazgo de equipos',
 'He dirigido equipos de tres a nueve personas, presenciales y repartidos por cuatro husos horarios. Reparto el trabajo en entregas pequeñas, reviso el código con respeto y procuro que nadie sea imprescindible, tampoco yo. He contratado a once desarrolladores, he acompañado a seis personas en su primer empleo y he puesto orden en proyectos que llevaban meses atascados. Puedo incorporarme como responsable técnico por temporadas.',
 ARRAY['¿ha dirigido equipos?', '¿puede ser jefe de proyecto?', 'responsable técnico', 'tech lead', 'CTO por horas', 'experiencia como líder', 'formar a desarrolladores júnior'],
 ARRAY['liderazgo', 'equipos']),

-- tarifas: prices.
('tarifas', 'Tarifas',
 'La hora de desarrollo cuesta 55 € y la jornada de ocho horas, 400 €. Para proyectos cerrados doy un precio fijo después de una reunión: una web sencilla parte de 1.500 €, una aplicación a medida suele costar entre 6.000 € y 30.000 €. La primera consulta, de media hora, es gratuita. A las ONG y a los proyectos de más de tres meses les hago un descuento del 15 %. Los precios no incluyen el IVA.',
 ARRAY['¿cuánto cobra?', '¿cuánto cuesta un proyecto?', '¿cuál es tu precio por hora?', '¿cuánto me saldría una página web?', 'precios', 'honorarios', '¿es caro?', '¿hace descuentos?'],
 ARRAY['precios', 'tarifa']),

('tarifas', 'Formas de pago y facturas',
 'Emito factura con IVA por transferencia bancaria, a quince días. En los proyectos de precio cerrado se paga un 30 % al empezar, un 40 % a mitad de camino y un 30 % con la entrega aceptada. El trabajo por horas se liquida a fin de mes con un parte detallado. Acepto también pagos en dólares, por Wise o PayPal, de clientes de fuera de la Unión Europea, a quienes facturo sin IVA.',
 ARRAY['¿cómo se paga?', '¿hay que pagar por adelantado?', '¿se puede pagar en cuotas?', '¿acepta PayPal?', '¿da factura?', '¿puedo pagar en dólares?', 'anticipo'],
 ARRAY['pago', 'factura', 'iva']),

('tarifas', 'Presupuesto sin compromiso',
 'Para preparar un presupuesto necesito tres cosas: qué problema quieres resolver, quién va a usar el programa y para cuándo hace falta. Con eso y una llamada de media hora envío en tres días laborables una propuesta por escrito con alcance, plazo y precio, válida durante treinta días. No cuesta nada ni obliga a nada. Si el encargo es muy incierto, propongo empezar por una fase corta de análisis pagada por jornadas.',
 ARRAY['quiero un presupuesto', '¿cómo pido presupuesto?', 'solicitar una cotización', '¿me puedes cotizar un proyecto?', '¿cuánto tarda en dar un presupuesto?', 'propuesta económica'],
 ARRAY['presupuesto', 'cotización']),

-- disponibilidad: when and where.
('disponibilidad', 'Disponibilidad',
 'Ahora mismo estoy disponible para proyectos nuevos, con unas veinticinco horas libres a la semana. Puedo empezar encargos pequeños en cinco días laborables y los grandes en dos o tres semanas. Reservo la última semana de agosto y la de Navidad para descansar. Si tu fecha es fija, conviene avisar con un mes de antelación para que te guarde sitio en el calendario.',
 ARRAY['¿está disponible?', '¿cuándo puedes empezar?', '¿tiene tiempo para otro proyecto?', '¿acepta nuevos clientes?', '¿estás libre?', '¿hay lista de espera?'],
 ARRAY['calendario', 'agenda']),

('disponibilidad', 'Horario y zona horaria',
 'Trabajo de lunes a viernes, de 9:00 a 18:00 en hora peninsular española (UTC+1, UTC+2 en verano). Con clientes de América acordamos reuniones entre las 15:00 y las 20:00 de aquí, que son las mañanas de allá. Contesto los correos el mismo día laborable. Los fines de semana solo atiendo emergencias de quienes tienen contratado el mantenimiento.',
 ARRAY['¿en qué horario trabaja?', '¿a qué hora atiendes?', '¿trabaja los fines de semana?', 'diferencia horaria con México', '¿a qué hora podemos hablar?'],
 ARRAY['horario', 'zona horaria']),

('disponibilidad', 'Trabajo en remoto y desplazamientos',
 'Trabajo en remoto desde Valencia. Viajo a la oficina del cliente cuando sirve de algo: el arranque del proyecto, una formación o un cambio delicado en producción. Dentro de España los desplazamientos de un día cuestan lo que el billete; fuera, se presupuestan aparte. No acepto puestos presenciales a tiempo completo ni mudarme a otra ciudad.',
 ARRAY['¿trabaja a distancia?', '¿trabajas remoto?', '¿puede venir a nuestra oficina?', '¿dónde vive?', '¿en qué ciudad está?', '¿viajas?', 'teletrabajo'],
 ARRAY['remoto', 'valencia']),

-- contacto
('contacto', 'Contacto',
 'Lo más rápido es escribir a hola@example.com: respondo en menos de un día laborable. También puedes llamar o mandar un mensaje de WhatsApp al 600 000 000, de 9:00 a 18:00. En https://example.com/contacto hay un formulario y un enlace para reservar una videollamada de media hora. Cuéntame en dos líneas qué necesitas y para cuándo.',
 ARRAY['¿cómo contactarlo?', '¿cómo puedo contactar contigo?', '¿cuál es tu correo?', 'número de teléfono', '¿tiene WhatsApp?', 'quiero hablar con él', 'agendar una llamada', 'datos de contacto'],
 ARRAY['correo', 'teléfono', 'whatsapp']),

('contacto', 'Perfiles en internet',
 'Mi código público está en https://example.com/codigo: bibliotecas pequeñas, ejemplos de mis charlas y correcciones a proyectos de otros. Escribo una vez al mes en https://example.com/blog sobre PostgreSQL, seguridad y trabajo por cuenta propia. Tengo perfil en LinkedIn, donde leo los mensajes los viernes. No uso Instagram ni TikTok por motivos profesionales.',
 ARRAY['¿tiene GitHub?', '¿tienes LinkedIn?', 'redes sociales', '¿dónde puedo ver tu código?', '¿escribe un blog?'],
 ARRAY['github', 'linkedin', 'blog']),

-- servicios
('servicios', 'Servicios que ofrezco',
 'Ofrezco cinco servicios: desarrollo de aplicaciones web a medida; integración de programas que hoy no se hablan; mejora de sistemas lentos o inestables; auditorías de seguridad; y mantenimiento mensual. Además doy formación a equipos sobre PostgreSQL, pruebas automáticas y programación segura. No hago aplicaciones nativas para iPhone, posicionamiento SEO ni campañas de publicidad, pero puedo recomendar a buenos profesionales.',
 ARRAY['¿qué servicios ofrece?', '¿qué haces exactamente?', '¿en qué puede ayudar a mi empresa?', 'desarrollo a medida', '¿haces aplicaciones móviles?', '¿hace SEO?'],
 ARRAY['servicios']),

('servicios', 'Auditoría de seguridad',
 'Reviso aplicaciones web y sus servidores siguiendo la guía OWASP: autenticación, permisos, inyecciones, secretos expuestos, dependencias vulnerables y copias de seguridad. Entrego un informe que distingue lo urgente de lo conveniente, con pruebas y arreglos propuestos, y repaso después que todo quedó cerrado. Una auditoría pequeña lleva una semana y cuesta 1.800 €. Siempre trabajo con autorización escrita del titular.',
 ARRAY['prueba de penetración', 'pentesting', 'ciberseguridad', '¿mi web es segura?', 'me han hackeado', 'revisar vulnerabilidades', 'OWASP'],
 ARRAY['seguridad', 'owasp', 'auditoría']),

('servicios', 'Mantenimiento y soporte',
 'El mantenimiento cuesta desde 120 € al mes e incluye actualizaciones de seguridad, copias diarias, vigilancia del servicio y dos horas de cambios pequeños. Las averías graves se atienden en menos de cuatro horas, también en domingo. Acepto aplicaciones que hicieron otros, después de una revisión inicial de un día. Se contrata por trimestres y se deja cuando se quiera, sin penalización.',
 ARRAY['¿da soporte después de la entrega?', '¿hace mantenimiento?', 'se cayó mi página', 'actualizar mi sistema', 'contrato de mantenimiento mensual', '¿arreglas webs hechas por otros?'],
 ARRAY['soporte', 'mantenimiento']),

-- formacion
('formacion', 'Estudios',
 'Ingeniería Informática en una universidad pública de Valencia (2007-2012) y un máster en seguridad de la información, terminado a distancia en 2018. Cada año reservo diez jornadas para aprender: los últimos cursos fueron de PostgreSQL avanzado, accesibilidad y aprendizaje automático. Imparto de vez en cuando un taller de bases de datos en un centro de formación profesional.',
 ARRAY['¿qué ha estudiado?', '¿qué estudios tienes?', '¿es ingeniero?', '¿tiene título universitario?', '¿dónde estudió?', 'formación académica', 'carrera'],
 ARRAY['universidad', 'máster']),

('formacion', 'Certificaciones',
 'Tengo en vigor la certificación AWS Solutions Architect Associate, la Certified Kubernetes Administrator (CKA) y el título OSCP de seguridad ofensiva. El inglés está acreditado con el C1 Advanced de Cambridge. Los certificados se pueden comprobar con un código de verificación que envío a quien lo necesite para un concurso o una homologación de proveedores.',
 ARRAY['¿qué certificados tiene?', '¿está certificado en AWS?', 'OSCP', 'CKA', 'acreditaciones', 'diplomas'],
 ARRAY['aws', 'cka', 'oscp']),

-- proceso
('proceso', 'Cómo trabajo',
 'Primero escucho: una o dos reuniones para entender el problema y decidir qué no hace falta construir. Después entrego algo que funciona cada dos semanas, en un entorno donde puedes probarlo, y ajustamos el rumbo con lo aprendido. Llevamos las tareas en un tablero compartido y hablamos media hora por semana. Al final quedan el código, la documentación, las pruebas y una sesión de traspaso grabada.',
 ARRAY['¿cómo trabajas?', 'metodología de trabajo', '¿trabaja con Scrum?', 'metodologías ágiles', '¿cuáles son las etapas de un proyecto?', '¿cómo es el proceso?', '¿cómo sigo el avance?'],
 ARRAY['metodología', 'scrum', 'kanban']),

('proceso', 'Pruebas y calidad del código',
 'Ningún cambio llega a producción sin pruebas automáticas y sin que otra persona, o una segunda lectura al día siguiente, lo haya revisado. Uso pytest, Playwright y análisis estático; mido la cobertura, aunque no la persigo como un fin. Los fallos se corrigen con una prueba que los reproduce, para que no vuelvan. La documentación se escribe junto al código y explica el porqué de cada decisión.',
 ARRAY['¿hace testing?', '¿escribe tests?', 'calidad del software', 'pruebas unitarias', '¿documentas el código?', 'revisión de código'],
 ARRAY['testing', 'pytest', 'calidad']),

-- faq
('faq', 'Confidencialidad',
 'Firmo sin problema un acuerdo de confidencialidad (NDA) antes de la primera reunión técnica. Los datos reales no salen de los sistemas del cliente: para desarrollar uso datos inventados o anonimizados. Los equipos van cifrados y las contraseñas se guardan en un gestor. En el portafolio solo aparecen proyectos cuyos dueños dieron permiso, y sin nombres. Cumplo el RGPD y firmo el contrato de encargado de tratamiento.',
 ARRAY['¿firma un NDA?', 'acuerdo de confidencialidad', '¿mis datos están seguros?', 'protección de datos', 'RGPD', '¿guardas el secreto de mi idea?'],
 ARRAY['nda', 'rgpd', 'privacidad']),

('faq', 'Propiedad del código',
 'El código que escribo para ti es tuyo en cuanto se paga la última factura: lo dice el contrato y lo recibes en tu propio repositorio desde el primer día. Las bibliotecas libres conservan su licencia, y te entrego la lista. Solo pido permiso para reutilizar piezas genéricas que no revelen nada de tu negocio. Nunca dejo puertas traseras ni te ato a un servidor mío.',
 ARRAY['¿de quién es el código?', '¿me entrega el código fuente?', 'derechos de autor', 'propiedad intelectual', '¿puedo llevarme el proyecto a otro programador?'],
 ARRAY['licencia', 'propiedad intelectual']),

('faq', 'Plazos de entrega',
 'Una web sencilla está lista en dos o tres semanas; una integración entre dos programas, en tres o cuatro; una aplicación a medida, entre dos y seis meses, con una primera versión utilizable a las seis semanas. El plazo se escribe en la propuesta. Si me retraso por mi culpa, cada semana de demora descuenta un 5 % del precio. Para urgencias hay un recargo del 25 %.',
 ARRAY['¿cuánto tarda?', '¿en cuánto tiempo está lista una web?', '¿cuánto demora un desarrollo?', 'lo necesito urgente', '¿cumple los plazos?', 'fecha de entrega'],
 ARRAY['plazo', 'urgente']),

('faq', 'Garantía del trabajo',
 'Durante los seis meses siguientes a la entrega corrijo gratis cualquier fallo del código que escribí, sin límite de horas. La garantía no cubre funciones nuevas, cambios de terceros ni servidores que yo no administre. Si en el primer mes el resultado no responde a lo acordado y no consigo remediarlo, devuelvo el último pago. En doce años ha ocurrido una vez.',
 ARRAY['¿tiene garantía?', '¿y si algo falla después?', '¿corrige los errores gratis?', '¿devuelves el dinero?', '¿qué pasa si no me gusta?'],
 ARRAY['garantía']),

('faq', 'Opiniones y referencias de clientes',
 'Ocho clientes han aceptado atender una llamada y contar cómo fue trabajar conmigo; paso sus datos cuando ya hay una propuesta encima de la mesa, para no molestarlos en vano. Las valoraciones públicas están en https://example.com/opiniones: 4,9 sobre 5 en 27 reseñas. Lo que más repiten es que aviso pronto de los problemas y que se entiende lo que explico.',
 ARRAY['¿qué opinan sus clientes?', 'referencias', 'recomendaciones', '¿tienes reseñas?', 'testimonios', '¿con qué clientes ha trabajado?'],
 ARRAY['reseñas', 'clientes'])

ON CONFLICT DO NOTHING;
